import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIP } from 'node:net'

/** The response for a name: its addresses (may be empty), an alias, an error, or no response. */
export type NameRecord =
  | { addresses?: string[]; alias?: string; silentFor?: 'A' | 'AAAA' }
  | keyof typeof codes
  | 'silent'

const codes = { failed: 2, unknown: 3, refused: 5 }
const types = new Map([
  [1, 'A'],
  [28, 'AAAA'],
] as const)

/** A real name server on loopback, over UDP. Names that are not in `records` do not exist. */
export interface NameServer extends AsyncDisposable {
  /** In the format of `Resolver.setServers`. */
  readonly address: string
  /** Each query, as "A name". */
  readonly questions: string[]
}

export async function startNameServer(
  records: (name: string) => NameRecord | undefined,
  { port = 0 } = {},
): Promise<NameServer> {
  const questions: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (query, from) => {
    const { name, type, end } = readQuestion(query)
    questions.push(`${type} ${name}`)
    const response = respond(query.subarray(0, end), name, type, records)
    if (response) socket.send(response, from.port, from.address)
  })
  await once(socket.bind(port, '127.0.0.1'), 'listening')
  return {
    address: `127.0.0.1:${socket.address().port}`,
    questions,
    async [Symbol.asyncDispose]() {
      socket.close()
      await once(socket, 'close')
    },
  }
}

function readQuestion(query: Buffer) {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  const type = types.get(query.readUInt16BE(at + 1) as 1 | 28) ?? 'other'
  return { name: labels.join('.').toLowerCase(), type, end: at + 5 }
}

function respond(
  question: Buffer,
  name: string,
  type: string,
  records: (name: string) => NameRecord | undefined,
): Buffer | undefined {
  const record = records(name) ?? 'unknown'
  if (record === 'silent') return undefined
  if (typeof record === 'string') return responseOf(question, codes[record], [])
  if (record.silentFor === type) return undefined
  const { alias } = record
  const aliased = alias === undefined ? undefined : records(alias)
  const found = typeof aliased === 'object' ? aliased : record
  const addresses = (found.addresses ?? []).filter((address) => (isIP(address) === 4 ? 'A' : 'AAAA') === type)
  const owner = alias === undefined ? Buffer.from([0xc0, 12]) : encodeName(alias)
  return responseOf(question, 0, [
    ...(alias === undefined ? [] : [recordOf(Buffer.from([0xc0, 12]), 5, encodeName(alias))]),
    ...addresses.map((address) => recordOf(owner, type === 'A' ? 1 : 28, encodeAddress(address))),
  ])
}

function responseOf(question: Buffer, code: number, answers: Buffer[]): Buffer {
  const response = Buffer.concat([question, ...answers])
  response.writeUInt16BE(0x8180 | code, 2)
  response.writeUInt16BE(1, 4)
  response.writeUInt16BE(answers.length, 6)
  response.writeUInt32BE(0, 8)
  return response
}

function recordOf(owner: Buffer, type: number, data: Buffer): Buffer {
  const head = Buffer.alloc(10)
  head.writeUInt16BE(type, 0)
  head.writeUInt16BE(1, 2)
  head.writeUInt16BE(data.length, 8)
  return Buffer.concat([owner, head, data])
}

function encodeName(name: string): Buffer {
  const labels = name.split('.').flatMap((label) => [Buffer.from([label.length]), Buffer.from(label)])
  return Buffer.concat([...labels, Buffer.from([0])])
}

function encodeAddress(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number))
  const [start = '', rest = ''] = address.split('::')
  const groups = (text: string) => text.split(':').filter((group) => group !== '')
  const [head, tail] = [groups(start), groups(rest)]
  const all = [...head, ...Array(8 - head.length - tail.length).fill('0'), ...tail]
  return Buffer.from(all.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255]))
}
