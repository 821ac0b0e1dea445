import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { type ConfigSources, loadConfig } from '../config.ts'
import type { Member } from '../providers/index.ts'
import { Mistakes } from './mistakes.ts'

const folder = mkdtempSync(join(tmpdir(), 'filmgate-config-'))
after(() => rmSync(folder, { recursive: true }))

type Sources = [env?: Record<string, string>, flags?: Record<string, string>, members?: ConfigSources['members']]

/** The configuration of a process with this filmgate.yaml. */
export function load(yaml: string, ...[env = {}, flags = {}, members]: Sources) {
  const path = join(folder, 'filmgate.yaml')
  writeFileSync(path, yaml)
  return loadConfig({ flags, env: { FILMGATE_CONFIG: path, ...env }, ...(members && { members }) })
}

/** What is wrong with it, with the name of the file in place of its path. */
export function mistakesOf(yaml: string, ...sources: Sources): string[] {
  try {
    load(yaml, ...sources)
  } catch (error) {
    assert.ok(error instanceof Mistakes, `it failed otherwise: ${error}`)
    return error.list.map((line) => line.replace(`${folder}/`, ''))
  }
  return []
}

/** A provider that is reached over the network. */
export const remote: Record<string, Member> = {
  acme: {
    needsNothing: false,
    cards: [
      {
        id: 'acme-1',
        provider: 'acme',
        upstreamModel: 'one',
        description: 'Acme',
        created: 1_790_000_000,
        seconds: { values: [4, 8], default: 4 },
        size: { values: ['1280x720'], default: '1280x720' },
        image: 'none',
        parameters: {},
        pollAfterMs: 1_000,
        failuresBilled: true,
      },
    ],
    create: () => assert.fail('nobody asked for it'),
  },
}
