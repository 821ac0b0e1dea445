import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseBucket, parseStore } from '../config/places.ts'
import { messageOf, Problem } from '../core/problem.ts'
import {
  type Compared,
  explainS3,
  isSame,
  type Move,
  migrate,
  type Outcome,
  type Place,
  type Progress,
} from '../migrate.ts'
import { type Command, readArguments, type Values } from './arguments.ts'
import { exits, Failure, Interrupted, UsageFailure } from './failure.ts'
import { listenForInterrupts } from './interrupts.ts'
import { quoted } from './program.ts'
import { renderBar } from './screen/bar.ts'
import { type Sample, timeLeft, withSample } from './screen/estimate.ts'
import { roomOf, table } from './screen/table.ts'
import { jsonLine, painter, printable } from './screen/text.ts'
import { bytes, clockTime, count, roughly } from './screen/wording.ts'
import type { Terminal } from './terminal.ts'

const help = `Usage: filmgate migrate --from-… --to-… [options]

Moves a service: its rows from SQLite to PostgreSQL or back, its videos from the
data folder to S3 or back. The service must be stopped. The target must be
empty; nothing there is overwritten. Nothing of the source is removed, but no
service starts on rows that were moved.

If the command is interrupted, run it again: it continues. At the end it counts
and compares both sides, row by row and video by video.

From (the settings of the old service):
  --from-data DIR     its data folder
  --from-store URL    postgres://…, if its rows are not in that folder
  --from-bucket URL   s3://…, if its videos are not in that folder

To (without an option, rows or videos stay where they are):
  --to-store URL      postgres://user@host/database for the rows
  --to-bucket URL     s3://bucket/prefix?endpoint=… for the videos
  --to-data DIR       a new data folder, for what the other two don't move

Options:
  --json              one JSON object on stdout instead of the table

The variables FILMGATE_… are not read: they may be the old ones or the new ones.
Give secrets in variables, where a list of processes does not show them:
PGPASSWORD, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.

Examples:
  filmgate migrate --from-data ./filmgate-data \\
    --to-store postgres://filmgate@db/filmgate --to-bucket s3://films/prod
  filmgate migrate --from-data ./filmgate-data --to-bucket s3://films
  filmgate migrate --from-store postgres://filmgate@db/filmgate \\
    --from-bucket s3://films/prod --to-data ./filmgate-data

Exit codes: 0 everything moved, 1 not everything, with the reasons, 2 a mistake
in the command, 130 interrupted.
`

const options = {
  'from-data': { type: 'string' },
  'from-store': { type: 'string' },
  'from-bucket': { type: 'string' },
  'to-data': { type: 'string' },
  'to-store': { type: 'string' },
  'to-bucket': { type: 'string' },
  json: { type: 'boolean' },
} as const

type Flags = Values<typeof options>

export const command: Command = {
  help,
  async run(args, terminal) {
    const { values } = readArguments(args, { options })
    const move = readMove(values)
    const outcome = await run(move, terminal)
    if (outcome.repeated) terminal.err('This move has finished before. There is nothing to do.\n')
    if (values.json) terminal.out(jsonLine(toJson(outcome)))
    else if (!outcome.repeated) terminal.out(summary(outcome, terminal))
    terminal.err(advice(outcome, move))
    return outcome.finished && !outcome.objects?.faults.length ? exits.done : exits.error
  },
}

async function run(move: Move, terminal: Terminal): Promise<Outcome> {
  using interrupts = listenForInterrupts(terminal)
  using progress = openMoveProgress(terminal)
  const { first: signal } = interrupts
  const tools = { now: terminal.now(), sleep: terminal.sleep, signal, report: progress.report }
  try {
    return await migrate(move, tools)
  } catch (error) {
    const hint = 'Run the same command again to go on.'
    if (signal.aborted) throw new Interrupted('interrupted', { hint })
    // The message is for clients. The operator needs the cause.
    if (!(error instanceof Problem)) throw error
    const bucket = explainS3(error)
    const why = bucket?.why ?? messageOf(error.cause ?? error)
    // A wrong address looks like an outage, so running the command again may not be enough.
    const fix = bucket ? `To fix it: ${bucket.fix}. Then run the same command again.` : hint
    throw new Failure(`the storage failed: ${why}`, { hint: fix, cause: error })
  }
}

function readMove(flags: Flags): Move {
  const from = placeOf('from', flags, flags['from-data'] ?? null)
  const data = flags['to-data'] ?? null
  const named = placeOf('to', flags, data)
  if (data === null && flags['to-store'] === undefined && flags['to-bucket'] === undefined)
    throw new UsageFailure('the target is missing; set at least one of --to-store, --to-bucket and --to-data')
  if (from.data === null && (from.store.kind === 'sqlite' || from.bucket.kind === 'disk'))
    throw new UsageFailure('--from-data is missing; set it to the data folder of the service')
  // Without an option, rows or videos stay. A new folder gets what the other options don't name.
  const to: Place = {
    data: data ?? from.data,
    store: flags['to-store'] === undefined && data === null ? from.store : named.store,
    bucket: flags['to-bucket'] === undefined && data === null ? from.bucket : named.bucket,
  }
  const { store, bucket } = isSame(from, to)
  if (store && bucket) throw new UsageFailure('the source and the target are the same')
  return { from, to }
}

function placeOf(side: 'from' | 'to', flags: Flags, data: string | null): Place {
  const read = <T>(name: 'data' | 'store' | 'bucket', parse: (text: string) => { value: T; fix?: string }) => {
    const text = flags[`${side}-${name}`]
    // Probably a shell variable that is not set.
    if (text === '') throw new UsageFailure(`--${side}-${name} is empty`)
    const { value, fix } = parse(text ?? '')
    if (fix !== undefined)
      throw new UsageFailure(`--${side}-${name} can't be used: ${fix.replace(', or leave it out', '')}`)
    return value
  }
  read('data', (value) => ({ value }))
  return { data, store: read('store', parseStore), bucket: read('bucket', parseBucket) }
}

interface MoveProgress extends Disposable {
  report(progress: Progress): void
}

const frameMs = 120

/** Progress on stderr: a bar in a terminal, elsewhere a line for each phase and each 10 %. */
function openMoveProgress(terminal: Terminal): MoveProgress {
  const startedAt = terminal.now()
  let phase: Progress['phase'] | null = null
  let samples: readonly Sample[] = []
  let [drawnAt, tens, frame] = [0, 0, 0]

  function draw(progress: Progress, left: number | null, now: number): void {
    const { done, total } = progress
    if (now - drawnAt < frameMs && done !== total) return
    drawnAt = now
    frame += 1
    const fraction = total ? done / total : null
    const detail = [amountOf(progress), ...(left === null ? [] : [`${roughly(left)} left`])].join(', ')
    const view = { label: null, phase: progress.phase, fraction, elapsedMs: now - startedAt, leftMs: null, detail }
    const look = {
      columns: terminal.size().columns - 1,
      unicode: terminal.unicode,
      paint: painter(terminal.colour.stderr),
    }
    terminal.err(`\r${renderBar({ ...view, trouble: null, frame }, look)}\x1b[K`)
  }

  function print(progress: Progress, isNew: boolean, left: number | null, now: number): void {
    const passed = percentOf(progress) >= tens + 10
    if (!isNew && !passed) return
    tens = Math.floor(percentOf(progress) / 10) * 10
    const parts = [`${clockTime(now - startedAt)} ${progress.phase}`, isNew ? '' : `${tens} %:`, amountOf(progress)]
    terminal.err(`${parts.filter(Boolean).join(' ')}${left === null ? '' : `, ${roughly(left)} left`}\n`)
  }

  return {
    report(progress) {
      const now = terminal.now()
      const isNew = progress.phase !== phase
      if (isNew) [phase, samples, tens] = [progress.phase, [], 0]
      samples = withSample(samples, { at: now, percent: percentOf(progress) })
      const left = progress.done === progress.total ? null : timeLeft(samples, now)
      if (terminal.live) draw(progress, left, now)
      else print(progress, isNew, left, now)
    },
    [Symbol.dispose]() {
      if (terminal.live) terminal.err('\r\x1b[K')
    },
  }
}

function percentOf({ done, total }: Progress): number {
  return total ? Math.min(100, (done / total) * 100) : 0
}

function amountOf({ phase, done, total }: Progress): string {
  if (phase === 'videos') return `${bytes(done)} of ${bytes(total ?? 0)}`
  return total === null ? (done === 0 ? '' : `${done} rows`) : `${done} of ${total} rows`
}

/** A table that compares both sides. */
function summary({ rows, objects }: Outcome, terminal: Terminal): string {
  const paint = painter(terminal.colour.stdout)
  const look = { columns: roomOf(terminal), paint }
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
  if (!objects) return `${shown}\nThe videos stay where they are.\n`
  const { copied, there, bytes: size, faults } = objects
  const lost = faults.length > 0 ? `, ${faults.length} NOT MOVED` : ''
  const moved = `Videos and images: ${copied} copied, ${there} already there, ${bytes(size)}, each compared with its checksum${lost}.\n`
  return `${shown}\n${moved}${faults.map(({ task, key, what }) => `  ${printable(`${task}: ${key}: ${what}`)}\n`).join('')}`
}

/** What to do next. */
export function advice({ rows, objects, finished }: Outcome, { from, to }: Move): string {
  if (!finished) {
    const isChanged = rows?.some(({ same }) => !same)
    const changed = isChanged ? 'The source and the target differ. Was the source in use during the move?\n' : ''
    return `\n${changed}The move has not finished. Fix the problem, and run the same command again.\n`
  }
  const lost = objects?.faults.length
    ? `\nMissing or damaged in the source: ${count(objects.faults.length, 'object')}. Their tasks were moved without them.\n`
    : ''
  const unset = [
    ...(to.store.kind === 'sqlite' && from.store.kind !== 'sqlite' ? ['FILMGATE_STORE'] : []),
    ...(to.bucket.kind === 'disk' && from.bucket.kind !== 'disk' ? ['FILMGATE_BUCKET'] : []),
  ]
  const lines = [...settingsOf(to), ...keyOf({ from, to })].map((line) => `  ${line}`)
  lines.push(...unset.map((name) => `  (and without ${name})`))
  return `${lost}
Moved. Start the service with

${lines.join('\n')}

${rows ? 'No service starts on the old rows any more: both services would generate, and pay for, the queued videos.\n' : ''}`
}

function settingsOf({ data, store, bucket }: Place): string[] {
  return [
    ...(store.kind === 'sqlite' ? [] : [`FILMGATE_STORE=${quoted(withoutPassword(store.url))}`]),
    ...(bucket.kind === 'disk' ? [] : [`FILMGATE_BUCKET=${quoted(bucketUrl(bucket))}`]),
    ...(data === null ? [] : [`FILMGATE_DATA=${quoted(resolve(data))}`]),
  ]
}

/** The secrets in the rows stay encrypted with the key of the old service, which may have been a setting. */
function keyOf({ from, to }: Move): string[] {
  if (from.data === null || from.store.kind !== 'sqlite' || to.store.kind === 'sqlite') return []
  const file = resolve(from.data, 'secret.key')
  if (existsSync(file)) return [`FILMGATE_SECRET_KEY=$(cat ${quoted(file)})`]
  return ['FILMGATE_SECRET_KEY=KEY', '(KEY: as before; if there was none, the output of openssl rand -base64 32)']
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

function toJson({ rows, objects, finished }: Outcome): Record<string, unknown> {
  return {
    finished,
    tables: rows?.map(({ table: name, source, target, same }) => ({ table: name, source, target, same })) ?? null,
    objects: objects && { ...objects, faults: objects.faults.map(({ task, key, what }) => ({ task, key, what })) },
  }
}
