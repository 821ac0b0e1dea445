import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, it } from 'node:test'
import { checkAfterCrash, suspect } from './check.ts'

/* Real damage is in test/damage.test.ts. */

const folder = mkdtempSync(join(tmpdir(), 'filmgate-check-'))
after(() => rmSync(folder, { recursive: true }))

function newReport() {
  const said: [string, string, Record<string, unknown>][] = []
  const say = (level: string) => (event: string, fields: Record<string, unknown>) =>
    void said.push([level, event, fields])
  return { said, info: say('info'), warn: say('warn') }
}

it('a check that is cut off says so, and does not block the start', async () => {
  const path = join(folder, 'large.db')
  using database = new DatabaseSync(path)
  database.exec('PRAGMA journal_mode = WAL; CREATE TABLE small (x); CREATE TABLE large (x)')
  database.exec(`INSERT INTO large WITH RECURSIVE counted (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM counted LIMIT 100000)
    SELECT x FROM counted`)
  const report = newReport()
  await checkAfterCrash(path, report, 1)
  const [[level, event, fields] = []] = report.said
  assert.equal(level, 'warn')
  assert.match(event ?? '', /not wholly checked after an unclean end/)
  assert.equal(fields?.why, 'it took more than 1 ms')
  const whole = newReport()
  await checkAfterCrash(path, whole)
  assert.deepEqual(whole.said, [
    ['info', 'the database was checked after an unclean end, and is sound', { tables: ['small', 'large'] }],
  ])
})

it('a database that was closed cleanly is checked if damage was found, until it is sound', async () => {
  const path = join(folder, 'suspect.db')
  {
    using database = new DatabaseSync(path)
    database.exec('PRAGMA journal_mode = WAL; CREATE TABLE one (x)')
  }
  const report = newReport()
  await checkAfterCrash(path, report)
  assert.equal(report.said.length, 0)
  suspect(path, 'a page made no sense')
  await checkAfterCrash(path, report)
  assert.equal(report.said.length, 1)
  assert.ok(!existsSync(`${path}-suspect`))
})
