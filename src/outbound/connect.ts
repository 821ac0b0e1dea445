import { once } from 'node:events'
import { isIP, type LookupFunction, type Socket, type TcpNetConnectOpts } from 'node:net'
import { connect as openTls } from 'node:tls'
import { sameAddress } from './address.ts'
import { admit, Refusal, type Rules, type Target } from './target.ts'

/** All addresses of a host name; throws if there are none. The signal may end it, and ends the waiting in any case. */
export type Resolver = (host: string, signal: AbortSignal) => Promise<string[]>

/** The same for the host of a target, on behalf of the token or provider that named it. */
export type Lookup = (target: Target, signal: AbortSignal) => Promise<string[]>

/** What reaches the outside, handed in so that no test ever does. */
export interface Network {
  lookup: Lookup
  /** Starts to open a TCP connection; `net.connect` in earnest. */
  dial: (options: TcpNetConnectOpts) => Socket
}

/** How long Node tries one address before it also tries the next; its own 250 ms are less than some round trips. */
const NEXT_ADDRESS_AFTER_MS = 1_000

/**
 * Opens a connection that a request can be sent on: every address of the host was judged, the socket can only go to one
 * of those, and the peer was looked at before a byte (of TLS, too) was sent. Throws a Refusal, or the transport's error,
 * or the reason of the signal. The signal ends with the opening: it does not close the connection afterwards.
 */
export async function connect(target: Target, rules: Rules, network: Network, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted()
  const addresses = await addressesOf(target, network.lookup, signal)
  if (addresses.length === 0) throw new Error(`${target.host} has no address`)
  admit(target, addresses, rules)
  const socket = network.dial({
    host: target.host,
    port: target.port,
    // Never asked for a literal, which is its own pin. For a name there is no second question to a resolver that could
    // be answered differently (DNS rebinding): these are the addresses that were judged.
    lookup: pinned(addresses),
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

/** The addresses of a target now, unjudged. Not every question can be recalled, but the signal ends the waiting. */
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

/** It can only be another one if Node connects elsewhere than it was told; then nothing may be sent. */
function verifyPeer(socket: Socket, addresses: string[]): void {
  const peer = socket.remoteAddress
  if (peer === undefined) throw new Error('the connection closed as soon as it was open')
  if (addresses.some((address) => sameAddress(address, peer))) return
  throw new Refusal('its host is not at a public address', 'Use another host.', `connected to ${peer} unasked`)
}

async function secure(socket: Socket, target: Target, signal: AbortSignal): Promise<Socket> {
  const tls = openTls({
    socket,
    host: target.host,
    servername: target.literal ? '' : target.host, // an address is not allowed in SNI
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: true, // whatever NODE_TLS_REJECT_UNAUTHORIZED says
  })
  return await opened(tls, 'secureConnect', signal)
}

async function opened(socket: Socket, event: 'connect' | 'secureConnect', signal: AbortSignal): Promise<Socket> {
  // Until the next one listens, an error must not end the process; whoever uses the socket will see that it is closed.
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

function pinned(addresses: string[]): LookupFunction {
  const answer = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_host, _options, callback) => callback(null, answer)
}
