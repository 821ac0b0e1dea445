// Exits with 0 if the service in this container responds to the given path (/livez or /readyz) with 200.
const [path = '/livez'] = process.argv.slice(2)
try {
  const url = `http://127.0.0.1:${process.env.FILMGATE_PORT || 8484}${path}`
  const answer = await fetch(url, { signal: AbortSignal.timeout(4_000) })
  process.stdout.write(`${answer.status} ${await answer.text()}\n`)
  process.exitCode = answer.ok ? 0 : 1
} catch (error) {
  process.stderr.write(`${error.cause?.message ?? error.message}\n`)
  process.exitCode = 1
}
