import assert from 'node:assert/strict'
import { it } from 'node:test'
import pg from 'pg'
import { driverUrl } from './database.ts'

/** How the driver reads the URL. */
const sslOf = (query: string) => new pg.Client({ connectionString: driverUrl(`postgres://u@h/d${query}`) }).ssl

it('the driver prints no warning, and each sslmode has its documented meaning', async () => {
  const warnings: Error[] = []
  const listen = (warning: Error) => warnings.push(warning)
  process.on('warning', listen)
  assert.equal(sslOf(''), false)
  assert.equal(sslOf('?sslmode=disable'), false)
  assert.deepEqual(sslOf('?sslmode=require'), {})
  assert.deepEqual(sslOf('?sslmode=verify-full'), {})
  assert.deepEqual(sslOf('?sslmode=no-verify'), { rejectUnauthorized: false })
  const ca = sslOf(`?sslmode=verify-ca&sslrootcert=${import.meta.filename}`) as unknown as Record<string, unknown>
  assert.deepEqual(Object.keys(ca).sort(), ['ca', 'checkServerIdentity'])
  await new Promise((resolve) => setImmediate(resolve))
  process.off('warning', listen)
  assert.deepEqual(warnings, [])
})
