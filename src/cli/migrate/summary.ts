import { resolve } from 'node:path'
import type { Compared, Move, Outcome, Place } from '../../migrate.ts'
import { quoted } from '../quoted.ts'
import { table } from '../screen/table.ts'
import { painter, printable } from '../screen/text.ts'
import { bytes, count } from '../screen/wording.ts'
import type { Terminal } from '../terminal.ts'

/** Both sides beside each other. */
export function summary({ rows, objects }: Outcome, terminal: Terminal): string {
  const paint = painter(terminal.colour.stdout)
  const look = { columns: terminal.stdoutIsTerminal ? terminal.size().columns : null, paint }
  const shown = rows
    ? table<Compared>(
        rows,
        [
          { title: 'TABLE', text: ({ table: name }) => name },
          { title: 'SOURCE', text: ({ source }) => String(source.rows), align: 'right' },
          { title: 'TARGET', text: ({ target }) => String(target.rows), align: 'right' },
          { title: 'SHA-256', text: ({ source }) => source.sha256.slice(0, 16), extra: true },
          { title: 'OF TARGET', text: ({ target }) => target.sha256.slice(0, 16), extra: true },
          {
            title: '',
            text: ({ same }) => (same ? 'same' : 'DIFFERENT'),
            paint: ({ same }, text) => paint(same ? 'green' : 'red', text),
          },
        ],
        look,
      )
    : 'The rows stay where they are.\n'
  if (!objects) return `${shown}\nThe films stay where they are.\n`
  const { copied, there, bytes: size, faults } = objects
  const lost = faults.length > 0 ? `, ${faults.length} NOT MOVED` : ''
  const films = `Films and images: ${copied} copied, ${there} already there, ${bytes(size)}, each compared with its checksum${lost}.\n`
  return `${shown}\n${films}${faults.map(({ task, key, what }) => `  ${printable(`${task}: ${key}: ${what}`)}\n`).join('')}`
}

/** What to do next. */
export function advice({ rows, objects, finished }: Outcome, { from, to }: Move): string {
  if (!finished) {
    const changed = rows?.some(({ same }) => !same) ? 'The two sides differ: was the source in use meanwhile?\n' : ''
    return `\n${changed}The move has not finished: mend that, and run the same command again.\n`
  }
  const lost = objects?.faults.length
    ? `\nThe source has ${count(objects.faults.length, 'object')} no more, or only broken; their tasks moved without.\n`
    : ''
  const unset = [
    ...(to.store.kind === 'sqlite' && from.store.kind !== 'sqlite' ? ['FILMGATE_STORE'] : []),
    ...(to.bucket.kind === 'disk' && from.bucket.kind !== 'disk' ? ['FILMGATE_BUCKET'] : []),
  ]
  const lines = [...settingsOf(to).map((line) => `  ${line}`), ...unset.map((name) => `  (and no ${name})`)]
  return `${lost}
Moved. Start the service with

${lines.join('\n')}

${rows ? 'On the old rows no service starts any more: both would make, and pay for, what is queued.\n' : ''}`
}

function settingsOf({ data, store, bucket }: Place): string[] {
  return [
    ...(store.kind === 'sqlite' ? [] : [`FILMGATE_STORE=${quoted(withoutPassword(store.url))}`]),
    ...(bucket.kind === 'disk' ? [] : [`FILMGATE_BUCKET=${quoted(bucketUrl(bucket))}`]),
    ...(data === null ? [] : [`FILMGATE_DATA=${quoted(resolve(data))}`]),
  ]
}

function withoutPassword(text: string): string {
  const url = new URL(text)
  if (url.password !== '') url.password = 'PASSWORD'
  if (url.searchParams.has('password')) url.searchParams.set('password', 'PASSWORD')
  return url.href
}

function bucketUrl(place: Exclude<Place['bucket'], { kind: 'disk' }>): string {
  const { bucket, prefix, endpoint, region, forcePathStyle } = place
  const given = Object.entries({ endpoint, region, path_style: forcePathStyle }).filter(
    ([, value]) => value !== undefined,
  )
  const query = given.map(([name, value]) => `${name}=${value}`).join('&')
  const path = prefix.split('/').map(encodeURIComponent).join('/')
  return `s3://${bucket}${path === '' ? '' : `/${path}`}${query === '' ? '' : `?${query}`}`
}

export function toJson({ rows, objects, finished }: Outcome): Record<string, unknown> {
  return {
    finished,
    tables: rows?.map(({ table: name, source, target, same }) => ({ table: name, source, target, same })) ?? null,
    objects: objects && { ...objects, faults: objects.faults.map(({ task, key, what }) => ({ task, key, what })) },
  }
}
