/** Why the service did not start, in words for who started it; what is not about its address stays as it is. */
export function startFailure(error: unknown, { host, port }: { host: string; port: number }): unknown {
  const { code, syscall, hostname } = error as NodeJS.ErrnoException & { hostname?: string }
  // A database or a bucket may have these codes as well, and the port is not to blame for those.
  if (code === 'ENOTFOUND' && hostname === host) return noAddress(host)
  if (syscall !== 'listen') return error
  const place = `port ${port} on ${host}`
  if (code === 'EADDRINUSE')
    return new Error(`${place} is already in use; choose another with --port, or 0 for any free one`)
  if (code === 'EACCES') return new Error(`${place} may not be used by this account; choose one above 1023 with --port`)
  return code === 'EADDRNOTAVAIL' ? noAddress(host) : error
}

function noAddress(host: string): Error {
  return new Error(`${host} is no address of this machine; choose one with --host`)
}
