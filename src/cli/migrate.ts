import { parseBucket, parseStore } from '../config/places.ts'
import { explainS3, isSame, type Move, migrate, type Outcome, type Place } from '../migrate.ts'
import { readArguments, type Values } from './arguments.ts'
import type { Command } from './command.ts'
import { exits, Failure, Interrupted, UsageFailure } from './failure.ts'
import { listenForInterrupts } from './interrupts.ts'
import { openMoveProgress } from './migrate/progress.ts'
import { advice, summary, toJson } from './migrate/summary.ts'
import { jsonLine } from './screen/text.ts'
import type { Terminal } from './terminal.ts'

const help = `Usage: filmgate migrate --from-… --to-… [options]

Moves a service: its rows from SQLite to PostgreSQL or back, its films from the
data folder to S3 or back. The service must be stopped. The target must be
empty; nothing there is overwritten. Nothing of the source is removed, but no
service starts on rows that have moved.

Cut off, however that happened? Run the same command again: it goes on.
At the end both sides are counted and compared, row by row and film by film.

From (the places that the old service was started with):
  --from-data DIR     its data folder
  --from-store URL    postgres://…, if its rows are not in that folder
  --from-bucket URL   s3://…, if its films are not in that folder

To (what you do not name stays where it is):
  --to-store URL      postgres://user@host/database for the rows
  --to-bucket URL     s3://bucket/prefix?endpoint=… for the films
  --to-data DIR       a new data folder, for all that the other two do not take

Options:
  --json              one JSON object on stdout instead of the table

The environment's FILMGATE_… are not read: they may be the old ones or the new
ones. Secrets that should not be seen in a list of processes go there, though:
PGPASSWORD, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.

Examples:
  filmgate migrate --from-data ./filmgate-data \\
    --to-store postgres://filmgate@db/filmgate --to-bucket s3://films/prod
  filmgate migrate --from-data ./filmgate-data --to-bucket s3://films
  filmgate migrate --from-store postgres://filmgate@db/filmgate \\
    --from-bucket s3://films/prod --to-data ./filmgate-data

Exit codes: 0 all moved, 1 not all: what, is said; 2 a mistake in the command,
130 interrupted.
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
    if (outcome.repeated) terminal.err('This move was done before, and has finished: there is nothing to do.\n')
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
    const { name, message, cause } = error as Error
    // What a client may read of a fault of the storage says nothing to the operator; the cause does.
    if (name !== 'Problem') throw error
    const bucket = explainS3(error)
    const why = bucket?.why ?? (cause as Error | undefined)?.message ?? String(cause ?? message)
    // A wrong address looks like one that is away for a moment, so it is never enough to run it again.
    const mend = bucket ? `To mend it: ${bucket.fix}. Then run the same command again.` : hint
    throw new Failure(`the storage gave up: ${why}`, { hint: mend, cause: error })
  }
}

function readMove(flags: Flags): Move {
  const from = placeOf('from', flags, flags['from-data'] ?? null)
  const data = flags['to-data'] ?? null
  const named = placeOf('to', flags, data)
  if (data === null && flags['to-store'] === undefined && flags['to-bucket'] === undefined)
    throw new UsageFailure('where to? Name at least one of --to-store, --to-bucket and --to-data')
  if (from.data === null && (from.store.kind === 'sqlite' || from.bucket.kind === 'disk'))
    throw new UsageFailure('--from-data is missing: the data folder of the service that moves')
  // What is not named stays; a new folder takes all that nobody else does.
  const to: Place = {
    data: data ?? from.data,
    store: flags['to-store'] === undefined && data === null ? from.store : named.store,
    bucket: flags['to-bucket'] === undefined && data === null ? from.bucket : named.bucket,
  }
  const { store, bucket } = isSame(from, to)
  if (store && bucket) throw new UsageFailure('source and target are the same place')
  return { from, to }
}

function placeOf(side: 'from' | 'to', flags: Flags, data: string | null): Place {
  const read = <T>(name: 'data' | 'store' | 'bucket', parse: (text: string) => { value: T; fix?: string }) => {
    const text = flags[`${side}-${name}`]
    // As of a shell's variable that is not set: not what was meant.
    if (text === '') throw new UsageFailure(`--${side}-${name} is empty`)
    const { value, fix } = parse(text ?? '')
    if (fix !== undefined)
      throw new UsageFailure(`--${side}-${name} can't be used: ${fix.replace(', or leave it out', '')}`)
    return value
  }
  read('data', (value) => ({ value }))
  return { data, store: read('store', parseStore), bucket: read('bucket', parseBucket) }
}
