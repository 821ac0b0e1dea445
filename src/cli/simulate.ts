import { type SimulatorName, simulators } from '../../simulators/index.ts'
import { faultsByKind } from '../../simulators/upstream/faults.ts'
import { type Orders, startUpstream } from '../../simulators/upstream.ts'
import { codeOf } from '../core/problem.ts'
import { type Command, readArguments, suggestion } from './arguments.ts'
import { exits, UsageFailure } from './failure.ts'
import { listenForInterrupts } from './interrupts.ts'
import { asTyped } from './program.ts'

const names = Object.keys(simulators) as SimulatorName[]

const help = `Usage: filmgate simulate PROVIDER [options]

Runs a simulated provider on this machine, for tests: it speaks the provider's
own protocol, accepts any key, costs nothing, and returns one small video. It
prints what to write into filmgate.yaml, and runs until Ctrl-C.

Providers: ${names.slice(0, 6).join(', ')},
  ${names.slice(6).join(', ')}

Options:
  --port N            the port to listen on; the next port serves the videos
                      (any free ports)
  --seconds N         how long a video takes to generate (3)
  --orders JSON       the faults to simulate: for each, the share of requests

Examples:
  filmgate simulate fal
  filmgate simulate kling --port 9000 --seconds 20
  filmgate simulate ark --orders '{"rates":{"submit-500-after-accept":0.2}}'

Faults:
${Object.values(faultsByKind)
  .map((faults) => wrapped(faults.map(({ name }) => name)))
  .join('\n\n')}
`

/** In lines of 80 columns. */
function wrapped(words: readonly string[]): string {
  const lines: string[] = []
  for (const word of words) {
    const longer = `${lines.at(-1)} ${word}`
    if (lines.length > 0 && longer.length <= 80) lines[lines.length - 1] = longer
    else lines.push(`  ${word}`)
  }
  return lines.join('\n')
}

const options = { port: { type: 'string' }, seconds: { type: 'string' }, orders: { type: 'string' } } as const

export const command: Command = {
  help,
  async run(args, terminal) {
    const { values, operands } = readArguments(args, { options, operands: ['the provider'] })
    const name = readName(operands[0] ?? '')
    const { path } = simulators[name]
    const { wire, key } = simulators[name].open()
    const speed = readNumber('--seconds', values.seconds ?? '3', 86_400) * 1_000
    const port = readNumber('--port', values.port ?? '0', 65_535)
    await using upstream = await open(readOrders(values.orders ?? '{}'), { wire, port, speed })
    using interrupts = listenForInterrupts(terminal)
    terminal.out(asTyped(howTo(name, upstream.url + path, upstream.films, key), terminal.env))
    await new Promise((resolve) => interrupts.first.addEventListener('abort', resolve, { once: true }))
    const { accepts, faults } = upstream.ledger()
    terminal.out(`\nIt accepted ${accepts.length} videos, and ${faults.length} requests failed on purpose.\n`)
    return exits.done
  },
}

async function open(orders: Orders, options: Parameters<typeof startUpstream>[0]) {
  try {
    return await startUpstream({ ...orders, ...options })
  } catch (error) {
    if (codeOf(error) === 'EADDRINUSE')
      throw new UsageFailure('that port, or the next one, is in use; choose another, or leave out --port')
    if (error instanceof RangeError) throw new UsageFailure(`--orders: ${error.message}`)
    throw error
  }
}

function howTo(name: SimulatorName, url: string, films: string, key: string): string {
  const { provider } = simulators[name]
  const lines =
    provider === 'openai'
      ? `engines:\n  - { name: ${name}, url: "${url}", key: ${key} }`
      : `accounts:\n  ${name}: { base_url: "${url}", key: '${key}' }`
  return `
A simulated ${name} listens at ${url}. In filmgate.yaml:

${lines}
outbound: { allow: ["${new URL(films).host}"] }

Then: filmgate doctor, filmgate serve. Each video is the same, 64x36 and one\nsecond long. Ctrl-C stops it.
`
}

function readName(text: string): SimulatorName {
  const name = names.find((known) => known === text)
  if (name) return name
  throw new UsageFailure(
    `there is no simulator '${text}'${suggestion(text, names) || `; use one of: ${names.join(', ')}`}`,
  )
}

function readNumber(flag: string, text: string, most: number): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && number <= most) return number
  throw new UsageFailure(`${flag}: '${text}' is not a whole number from 0 to ${most}`)
}

function readOrders(text: string): Orders {
  try {
    return JSON.parse(text) as Orders
  } catch {
    throw new UsageFailure('--orders is not valid JSON; write for example \'{"rates":{"poll-500":0.1}}\'')
  }
}
