import { once } from 'node:events'
import { isIP, type LookupFunction, type Socket, type TcpNetConnectOpts } from 'node:net'
import { connect as openTls } from 'node:tls'
import { codeOf } from '../core/problem.ts'
import { sameAddress } from './address.ts'
import { checkAddresses, type Rules, type Target, UrlRefusal } from './target.ts'
import { openStop } from './watch.ts'

/** All addresses of a host name. Throws if it has no address. The signal ends the lookup if that is possible. */
export type Resolver = (host: string, signal: AbortSignal) => Promise<string[]>

/** The same for the host of a target, on behalf of the token or provider that named it. */
export type Lookup = (target: Target, signal: AbortSignal) => Promise<string[]>

/** Access to the network, passed in so that tests stay on this machine. */
export interface Network {
  lookup: Lookup
  /** Opens a TCP connection; `net.connect` in production. */
  dial: (options: TcpNetConnectOpts) => Socket
}

/** The code of an error that means that a certificate, or TLS itself, was refused. */
export function certificateFaultOf(thrown: unknown): string | undefined {
  const code = codeOf(thrown) ?? ''
  return /CERT|SSL|TLS|SELF_SIGNED|ISSUER|VERIFY_LEAF/.test(code) ? code : undefined
}

interface ConnectContext {
  rules: Rules
  network: Network
  deadlines: { connectMs: number }
}

/** How long Node tries one address before it also tries the next. Its default of 250 ms is less than some round trips. */
const NEXT_ADDRESS_AFTER_MS = 1_000

/**
 * Opens a connection for a request. All addresses of the host are checked, the socket can only connect to one of them,
 * and the peer is verified before any byte is sent, TLS included. Throws a UrlRefusal, the transport's error, or the
 * reason of the signal. The signal does not close the connection once it is open.
 */
export async function connect(
  target: Target,
  { rules, network, deadlines }: ConnectContext,
  stop: AbortSignal,
): Promise<Socket> {
  using opening = openStop([stop], deadlines.connectMs, 'the connection took too long')
  const { signal } = opening
  signal.throwIfAborted()
  const addresses = await addressesOf(target, network.lookup, signal)
  if (addresses.length === 0) throw new Error(`${target.host} has no address`)
  checkAddresses(target, addresses, rules)
  const socket = network.dial({
    host: target.host,
    port: target.port,
    // A second lookup could give other addresses (DNS rebinding), so Node gets the checked ones. It does no lookup for
    // a literal address.
    lookup: fixedLookup(addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_AFTER_MS,
    noDelay: true,
  })
  try {
    await opened(socket, 'connect', signal)
    verifyPeer(socket, addresses)
    return target.url.protocol === 'https:' ? await secure(socket, target, signal) : socket
  } catch (thrown) {
    socket.destroy()
    throw thrown
  }
}

/** The addresses of a target, not checked. The signal ends the wait even if the lookup itself goes on. */
export async function addressesOf(target: Target, lookup: Lookup, signal: AbortSignal): Promise<string[]> {
  if (target.literal) return [target.host]
  signal.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([lookup(target, signal), aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** Guards against a connection to an address that was not checked: nothing may be sent to it. */
function verifyPeer(socket: Socket, addresses: string[]): void {
  const peer = socket.remoteAddress
  if (peer === undefined) throw new Error('the connection closed as soon as it was open')
  if (addresses.some((address) => sameAddress(address, peer))) return
  throw new UrlRefusal(
    'its host is not at a public address',
    'Use another host.',
    `connected to ${peer}, which is not an address of the host`,
  )
}

async function secure(socket: Socket, target: Target, signal: AbortSignal): Promise<Socket> {
  const tls = openTls({
    socket,
    host: target.host,
    servername: target.literal ? '' : target.host, // an address is not allowed in SNI
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: true, // overrides NODE_TLS_REJECT_UNAUTHORIZED
  })
  return await opened(tls, 'secureConnect', signal)
}

async function opened(socket: Socket, event: 'connect' | 'secureConnect', signal: AbortSignal): Promise<Socket> {
  // Without a listener an error would end the process. The next user of the socket sees that it is closed.
  socket.on('error', () => {})
  try {
    await once(socket, event, { signal })
    return socket
  } catch (thrown) {
    socket.destroy()
    signal.throwIfAborted()
    throw thrown
  }
}

function fixedLookup(addresses: string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_host, _options, callback) => callback(null, found)
}
