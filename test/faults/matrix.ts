import { run } from 'node:test'
import { fileURLToPath } from 'node:url'

/** A fault that one machine can have, and the tests that show what happens then, each by a part of its name. */
interface Row {
  id: string
  fault: string
  tests: [file: string, name: string][]
}

const simulation: Row['tests'][number] = ['faults/simulation.slow.ts', 'nothing is paid for twice']
const kills: Row['tests'][number] = ['faults/kills.slow.ts', 'kill -9 of']
const killed: Row['tests'][number] = ['kill.slow.ts', 'kill -9 at']
const durable: Row['tests'][number] = ['durability.test.ts', 'a submit is answered after its commit']
const upstream = (name: string): Row['tests'][number] => ['upstream-faults.slow.ts', name]
const routing = (name: string): Row['tests'][number] => ['routing.test.ts', name]

export const rows: readonly Row[] = [
  { id: 'K1', fault: 'dies before the task is committed', tests: [killed, durable] },
  {
    id: 'K2',
    fault: 'dies after the commit, before the answer',
    tests: [killed, ['repeats.slow.ts', 'thousand calls']],
  },
  { id: 'K3', fault: 'dies before the attempt is committed', tests: [simulation, kills] },
  {
    id: 'K4',
    fault: 'dies after it is committed, before a byte leaves',
    tests: [simulation, kills, ['unsent.test.ts', 'committed and not sent']],
  },
  {
    id: 'K5',
    fault: 'dies after the request left, before the answer',
    tests: [simulation, kills, ['unsent.test.ts', 'is not sent again']],
  },
  { id: 'K6', fault: 'dies with the answer, before it is committed', tests: [simulation, kills] },
  { id: 'K7', fault: 'dies during a poll', tests: [simulation, kills] },
  { id: 'K8', fault: 'dies during a download', tests: [killed, kills] },
  {
    id: 'K9',
    fault: 'dies between file, name and commit',
    tests: [killed, durable],
  },
  { id: 'K12', fault: 'dies during the start', tests: [killed, kills] },
  {
    id: 'K13',
    fault: 'dies during the expiry',
    tests: [
      ['content.test.ts', 'after expires_at it is 410'],
      ['../src/workers/workers.test.ts', 'decides what becomes of a'],
    ],
  },
  {
    id: 'S1',
    fault: 'the disk is full',
    tests: [
      ['disk-full.slow.ts', 'a disk that is full'],
      ['disk-full.slow.ts', 'is 503'],
    ],
  },
  {
    id: 'U1',
    fault: 'hangs at connect, headers, body',
    tests: [upstream('keeps up nobody else'), upstream('of the connection itself')],
  },
  { id: 'U2', fault: '429 in every form', tests: [upstream('pauses for a second to ten minutes')] },
  {
    id: 'U3',
    fault: '5xx on submit and on poll',
    tests: [
      upstream('becomes one video'),
      upstream('is held, never sent again'),
      upstream('is repeated, and nothing odd'),
    ],
  },
  {
    id: 'U4',
    fault: 'garbage instead of an answer',
    tests: [upstream('becomes one video'), upstream('is found, or sent again'), upstream('is asked after again')],
  },
  { id: 'U5', fault: 'odd statuses and progress', tests: [upstream('is repeated, and nothing odd')] },
  { id: 'U6', fault: 'broken, lying or truncated results', tests: [upstream('is fetched in the end, whole')] },
  {
    id: 'U7',
    fault: 'results that drip or never end',
    tests: [upstream('is fetched in the end, whole'), upstream('fails the task with a code')],
  },
  { id: 'U8', fault: 'links that expire', tests: [upstream('whose links expire')] },
  { id: 'U9', fault: 'key or credit refused', tests: [upstream('pauses with an alarm')] },
  { id: 'U10', fault: 'failed upstream, and then again otherwise', tests: [upstream('fails for the client')] },
  {
    id: 'C1',
    fault: 'the clock is set back',
    tests: [['../src/stores/sqlite.test.ts', 'after the clock was set back']],
  },
  {
    id: 'C2',
    fault: 'a holder wakes after its lease was lost',
    tests: [
      ['../src/engine.test.ts', 'that lost its lease'],
      ['../src/stores/sqlite.test.ts', 'the old holder can write nothing'],
    ],
  },
  {
    id: 'Q1',
    fault: 'the same submit again',
    tests: [
      ['repeats.slow.ts', 'thousand calls'],
      ['repeats.test.ts', 'a hundred calls at once'],
    ],
  },
  { id: 'Q2', fault: 'a crowd at an account that hangs', tests: [routing('delays none of a healthy one')] },
  {
    id: 'Q3',
    fault: 'a film that kills its renderer',
    tests: [['../src/media/pool.test.ts', 'a crash costs only its own film']],
  },
  {
    id: 'H1',
    fault: 'SIGTERM in the middle of everything',
    tests: [['serve.test.ts', 'SIGTERM lets a download finish']],
  },
  {
    id: 'H2',
    fault: 'slow and broken clients',
    tests: [
      ['bad-input.test.ts', 'goes away in the middle'],
      ['bad-input.test.ts', 'headers without end'],
    ],
  },
  {
    id: 'X1',
    fault: 'model, key or account changed under way',
    tests: [routing('keeps a task whose model is gone'), routing('lets a task wait for an account')],
  },
]

/** Runs every test that a row names, and prints the rows. Returns false if a test failed or is missing. */
export async function runMatrix(): Promise<boolean> {
  const pathOf = (file: string) => fileURLToPath(new URL(`../${file}`, import.meta.url))
  const files = [...new Set(rows.flatMap(({ tests }) => tests.map(([file]) => pathOf(file))))]
  const results: { file: string; name: string; passed: boolean; skipped: boolean }[] = []
  process.stdout.write(`Running the tests of ${rows.length} faults …\n`)
  const stream = run({ files, concurrency: 1, timeout: 300_000 })
  stream.on('test:pass', ({ file = '', name, skip }) =>
    results.push({ file, name, passed: true, skipped: Boolean(skip) }),
  )
  stream.on('test:fail', ({ file = '', name }) => results.push({ file, name, passed: false, skipped: false }))
  for await (const _event of stream) void _event
  let held = true
  process.stdout.write('\n')
  for (const { id, fault, tests } of rows) {
    const outcomes = tests.map(([, part]): string => {
      const own = results.filter(({ name }) => name.includes(part))
      if (own.length === 0) return 'NO TEST'
      if (!own.every(({ passed }) => passed)) return 'FAILED'
      return own.every(({ skipped }) => skipped) ? 'skipped here' : 'holds'
    })
    const worst = ['FAILED', 'NO TEST', 'skipped here', 'holds'].find((outcome) => outcomes.includes(outcome)) ?? ''
    held &&= worst !== 'FAILED' && worst !== 'NO TEST'
    process.stdout.write(`  ${id.padEnd(4)} ${fault.padEnd(52)} ${worst}\n`)
  }
  for (const { file, name } of results.filter(({ passed }) => !passed))
    process.stdout.write(`  failed: ${name} (${file})\n`)
  return held
}
