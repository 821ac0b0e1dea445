import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A bug that the code prevents, and the tests that must fail if it is planted. */
export interface PlantedBug {
  readonly name: string
  readonly file: string
  /** Occurs exactly once in the file. Short, so that it survives changes around it. */
  readonly find: string
  readonly replace: string
  readonly tests: readonly PlantedTest[]
}

export interface PlantedTest {
  readonly file: string
  /** The whole name of the test. */
  readonly name: string
}

/** What is wrong with a bug that does not fit the code any more; undefined if it fits. */
export function misfitOf({ name, file, find, tests }: PlantedBug, root: string): string | undefined {
  const found = readFileSync(join(root, file), 'utf8').split(find).length - 1
  const what = found === 0 ? 'was not found' : `was found ${found} times`
  if (found !== 1) return `the text to replace ${what} in ${file}: adjust the bug '${name}'. The text is:\n${find}`
  const missing = tests.find((test) => !readFileSync(join(root, test.file), 'utf8').includes(`'${test.name}'`))
  return missing && `the test was not found in ${missing.file}: adjust the bug '${name}'. The test is:\n${missing.name}`
}

export const plantedBugs: readonly PlantedBug[] = [
  {
    name: 'spill-not-replayed',
    file: 'src/engine.ts',
    find: '  await replay(options)\n',
    replace: '',
    tests: [
      {
        file: 'test/spill-replay.test.ts',
        name: 'a result that the last process could not store is stored by the time the service answers',
      },
    ],
  },
  {
    name: 'spill-file-not-synced',
    file: 'src/engine/spill.ts',
    find: 'fsyncSync(file)',
    replace: '',
    tests: [{ file: 'src/engine/spill.test.ts', name: 'a result that is kept is on disk, and so is its name' }],
  },
  {
    name: 'spill-folder-not-synced',
    file: 'src/engine/spill.ts',
    find: '      syncFolder(folder)\n',
    replace: '',
    tests: [{ file: 'src/engine/spill.test.ts', name: 'a result that is kept is on disk, and so is its name' }],
  },
  {
    name: 'shard-folder-not-synced',
    file: 'src/buckets/disk.ts',
    find: '[folder, shard, root]',
    replace: '[folder, root]',
    tests: [
      {
        file: 'src/buckets/disk.test.ts',
        name: 'an object that is put is on disk, and so is each directory that leads to it',
      },
    ],
  },
  {
    name: 'token-prefix',
    file: 'src/api/auth.ts',
    find: 'known.get(header)',
    replace: '[...known].find(([one]) => one.startsWith(header))?.[1]',
    tests: [
      {
        file: 'src/api/auth.test.ts',
        name: 'accepts a token only as a whole: neither its beginning nor anything after it, also once it is known',
      },
    ],
  },
  {
    name: 'changed-token-stays-cached',
    file: 'src/api/auth.ts',
    find: 'access.onChange(() => known.clear())',
    replace: '',
    tests: [
      {
        file: 'src/access.test.ts',
        name: 'a token is accepted only while it is enabled, not expired and not revoked',
      },
    ],
  },
  {
    name: 'cached-token-never-expires',
    file: 'src/api/auth.ts',
    find: 'if (!found || isOver(found)) {',
    replace: 'if (!found) {',
    tests: [
      {
        file: 'src/access.test.ts',
        name: 'a token is accepted only while it is enabled, not expired and not revoked',
      },
    ],
  },
  {
    name: 'retry-after-unclamped',
    file: 'src/core/health.ts',
    find: 'return Math.min(longestPauseMs, Math.max(1_000, Number.isFinite(wanted) ? wanted : longestPauseMs))',
    replace: 'return wanted',
    tests: [
      {
        file: 'src/core/health.test.ts',
        name: 'a busy account pauses as long as it asks for, but at least a second and at most ten minutes',
      },
    ],
  },
  {
    name: 'submit-does-not-persist',
    file: 'src/workers/submit.ts',
    find: '  persists: true,\n',
    replace: '',
    tests: [
      {
        file: 'test/submits.test.ts',
        name: 'a submit that loses its lease is not cut off, and its answer counts',
      },
    ],
  },
  {
    name: 'claims-while-stuck',
    file: 'src/engine.ts',
    find: '!records.stuck && ',
    replace: '',
    tests: [
      {
        file: 'src/engine/claims.test.ts',
        name: 'nothing is claimed while a decision waits for the store to come back',
      },
    ],
  },
  {
    name: 'clock-set-back',
    file: 'src/engine.ts',
    find: 'if (isSetBack) await store.repairDueTimes(clock.now())',
    replace: '',
    tests: [{ file: 'src/engine/claims.test.ts', name: 'a clock that is set back does not hold up what was due soon' }],
  },
  {
    name: 'half-a-migration',
    file: 'src/stores/sqlite/migrate.ts',
    find: "if (database.isTransaction) database.exec('ROLLBACK')",
    replace: "if (database.isTransaction) database.exec('COMMIT')",
    tests: [
      {
        file: 'src/stores/sqlite/migrate.test.ts',
        name: 'a migration that fails leaves the database as it was, and succeeds once its cause is gone',
      },
    ],
  },
  {
    name: 'repeat-with-another-credential',
    file: 'src/core/recovery.ts',
    find: 'attempt.keyVersion === account.keyVersion',
    replace: 'true',
    tests: [
      {
        file: 'src/workers/submit.test.ts',
        name: 'is sent under the same key, but not with another credential, which may not know that key',
      },
    ],
  },
  {
    name: 'repeat-without-refused-duplicates',
    file: 'src/core/recovery.ts',
    find: "recovery === 'lookup' && refusesDuplicates",
    replace: "recovery === 'lookup' && (refusesDuplicates || true)",
    tests: [
      {
        file: 'src/workers/submit.test.ts',
        name: 'is sent after a lookup did not find the submit only where the provider refuses duplicates',
      },
    ],
  },
  {
    name: 'find-ignores-created-at',
    file: 'src/providers/openai.ts',
    find: 'at !== undefined && (at < since || at > until)',
    replace: 'false',
    tests: [
      {
        file: 'test/submits.test.ts',
        name: 'a submit without an answer is not taken for a video that the upstream had before it',
      },
    ],
  },
  {
    name: 'find-ignores-created-at-replicate',
    file: 'src/providers/replicate.ts',
    find: 'const isRecent = (createdAt(prediction) ?? openedAt) >= openedAt - clockSlackMs',
    replace: 'const isRecent = true',
    tests: [
      {
        file: 'src/providers/replicate.test.ts',
        name: 'a prediction from before the submit is not a match, even if the list has no time limit',
      },
    ],
  },
  {
    name: 'completed-without-video',
    file: 'src/core/states.ts',
    find: 'after.video === null || ',
    replace: '',
    tests: [
      {
        file: 'src/core/states.test.ts',
        name: 'a task fails only with its reason, completes only with its video, and moves only along the arrows',
      },
    ],
  },
  {
    name: 'change-between-read-and-wait',
    file: 'src/api/wait.ts',
    find: ' || (last && isAwaited(seen, last))',
    replace: '',
    tests: [
      {
        file: 'test/waiting.test.ts',
        name: 'returns a change that was notified before the read of the old state returned',
      },
    ],
  },
  {
    name: 'bytes-left-behind',
    file: 'src/workers/expire.ts',
    find: '    if (now >= removeAt) {\n      await bucket.removeFolder(task.id)\n',
    replace: '    if (now >= removeAt) {\n',
    tests: [{ file: 'src/workers/workers.test.ts', name: 'expire: the bytes go at the expiry, the row a month later' }],
  },
  {
    name: 'frames-not-compared',
    file: 'src/media/verify.ts',
    find: 'track.frames < promised',
    replace: 'track.frames < 1',
    tests: [
      {
        file: 'src/media/verify.test.ts',
        name: 'a video whose header promises more frames than it has is refused, though each frame that it has decodes',
      },
    ],
  },
  {
    name: 'answer-before-commit',
    file: 'src/stores/sqlite.ts',
    find: 'await written',
    replace: 'void written.catch(() => {})',
    tests: [
      {
        file: 'test/durability.test.ts',
        name: 'a submit is answered after its commit, and a video is completed after its bytes and their name are on disk',
      },
      { file: 'test/durability.test.ts', name: 'a submit that can not be committed is not accepted' },
    ],
  },
  {
    name: 'intent-after-send',
    file: 'src/workers/submit.ts',
    find: 'return await call.send(path, init, signal, { ready: commit, leave })',
    replace: `const sent = await call.send(path, init, signal)
        await commit()
        leave()
        return sent`,
    tests: [
      {
        file: 'test/submits.test.ts',
        name: 'when a submit arrives at the upstream, its attempt is committed',
      },
      {
        file: 'src/workers/submit.test.ts',
        name: 'whose attempt can not be committed sends nothing to its provider',
      },
    ],
  },
  {
    name: 'intent-after-the-first-byte',
    file: 'src/outbound/upstream.ts',
    find: 'await departure?.ready(() => !opened.destroyed && !opened.readableEnded)\n      exchange.send(() => departure?.leave())',
    replace: 'exchange.send(() => departure?.leave())\n      await departure?.ready()',
    tests: [
      {
        file: 'src/outbound/departure.test.ts',
        name: 'the connection is open, and no byte has left, before the caller says that it may',
      },
    ],
  },
  {
    name: 'note-of-the-unsent-struck-after-the-first-byte',
    file: 'src/outbound/exchange.ts',
    find: '    leave?.()\n',
    replace: '    queueMicrotask(() => leave?.())\n',
    tests: [
      {
        file: 'src/outbound/departure.test.ts',
        name: 'nothing leaves where the caller can not note that it does',
      },
    ],
  },
  {
    name: 'note-of-the-unsent-not-struck',
    file: 'src/engine/runs.ts',
    find: '        unsent.strike(task.id)\n',
    replace: '',
    tests: [
      {
        file: 'test/unsent.test.ts',
        name: 'a task whose request had left when the process was killed is not sent again',
      },
    ],
  },
  {
    name: 'request-after-the-lease',
    file: 'src/engine/runs.ts',
    find: 'if (clock.now() >= run.leaseUntil) throw leaseEnded()',
    replace: '',
    tests: [
      {
        file: 'src/engine/runs.test.ts',
        name: 'a request is not sent after the lease of its task ended, and is sent if that was renewed',
      },
    ],
  },
  {
    name: 'one-note-of-a-task-struck',
    file: 'src/engine/unsent.ts',
    find: '        notes[slot] = null\n      }',
    replace: '        notes[slot] = null\n        return\n      }',
    tests: [
      {
        file: 'src/engine/unsent.test.ts',
        name: 'all notes of a task are struck, also one that could not be struck before',
      },
    ],
  },
  {
    name: 'unsent-not-queued-again',
    file: 'src/engine/replay.ts',
    find: '  await requeueUnsent(options)\n',
    replace: '',
    tests: [
      {
        file: 'test/unsent.test.ts',
        name: 'a task whose attempt was committed and not sent when the process was killed is sent by the next one',
      },
    ],
  },
  {
    name: 'repeat-after-a-failed-lookup',
    file: 'src/core/recovery.ts',
    find: "lookup?.is === 'absent' && age >= settleMs",
    replace: "lookup?.is !== 'unsure' && age >= settleMs",
    tests: [
      {
        file: 'src/workers/submit.test.ts',
        name: 'is sent again only after an answered lookup without it: not after a failed one, however old it is',
      },
    ],
  },
  {
    name: 'resubmit-after-a-failed-lookup',
    file: 'src/core/recovery.ts',
    find: "(!canAsk || lookup?.is === 'absent')",
    replace: 'true',
    tests: [
      {
        file: 'src/workers/submit.test.ts',
        name: 'is submitted again, where the account says so, only after an answered and whole list without it',
      },
    ],
  },
  {
    name: 'adopts-beside-what-is-possible',
    file: 'src/core/recovery.ts',
    find: "  if (possible.some(isFree)) return { is: 'unsure' }\n",
    replace: '',
    tests: [
      {
        file: 'src/workers/submit.test.ts',
        name: 'is not adopted while the list has a job without details, even beside a match',
      },
    ],
  },
  {
    name: 'a-list-without-prompts-matches',
    file: 'src/providers/openai.ts',
    find: "if (listed === '') return 'possible'",
    replace: "if (listed === '') return 'match'",
    tests: [
      {
        file: 'src/providers/openai.test.ts',
        name: 'are possible if they have too few fields, or others than the request',
      },
    ],
  },
  {
    name: 'capture-outside-of-the-transaction',
    file: 'src/stores/sqlite/mutations.ts',
    find: 'for (const write of writes) execute(write)',
    replace:
      "for (const write of writes) write.shape.table === 'entries' ? setImmediate(() => execute(write)) : execute(write)",
    tests: [
      {
        file: 'test/ledger.slow.ts',
        name: 'random changes of the ledger with kills on SQLite are equal to a reference',
      },
    ],
  },
  {
    name: 'release-twice',
    file: 'src/core/ledger.ts',
    find: 'price !== null && deletedAt === null && !isFinished({ state })',
    replace: 'price !== null && !isFinished({ state })',
    tests: [
      {
        file: 'test/ledger.slow.ts',
        name: 'random changes of the ledger with kills on SQLite are equal to a reference',
      },
    ],
  },
  {
    name: 'an-adoption-beats-an-answer',
    file: 'src/engine/records.ts',
    find: "if (Problem.from(error).code !== 'operation_taken') throw error",
    replace: 'throw error',
    tests: [
      {
        file: 'src/engine.test.ts',
        name: 'a response beats an adoption: the task of the response runs, and the other is held again',
      },
    ],
  },
]
