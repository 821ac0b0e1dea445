import type { FastifyRequest } from 'fastify'
import type { XStatic } from 'typebox/schema'
import { type AccountView, type Healths, isLocalName } from '../core/account.ts'
import type { Clock } from '../core/clock.ts'
import { healthy } from '../core/health.ts'
import { Problem } from '../core/problem.ts'
import { isTaskId, type Task } from '../core/task.ts'
import type { Store } from '../stores/store.ts'
import type { Log } from '../telemetry/log.ts'
import { toOperatorAccount, toOperatorAttempt, toOperatorTask } from './operator/wire.ts'
import { readLimit } from './validation.ts'
import { toWireList } from './wire.ts'

/** What an operator can see of all tasks, attempts and accounts; `operator/decide.ts` has what he can do to a task. */
export interface OperatorDependencies {
  store: Store
  accounts: ReadonlyMap<string, AccountView>
  healths: Healths
  clock: Clock
  log: Log
}

export const attemptsQuery = {
  type: 'object',
  properties: {
    state: { enum: ['open', 'abandoned', 'orphan'] },
    limit: { type: 'string' },
  },
  additionalProperties: false,
} as const

/** The whole of a task, deleted or not. */
export function showTask({ store }: OperatorDependencies) {
  return async (request: FastifyRequest) => {
    const { id } = request.params as { id: string }
    const task = isTaskId(id) ? await store.find(id) : undefined
    if (!task) throw taskNotFound(id)
    return tell(task, store)
  }
}

export async function tell(task: Task, store: Store) {
  return toOperatorTask(task, await store.attempts(task.id), await store.events(task.id))
}

/**
 * What may have cost money and is nobody's, the newest first; open attempts the oldest first, for most of them are on
 * their way at this moment and need nobody: the state of the task and the age tell.
 */
export function listAttempts({ store, clock }: OperatorDependencies) {
  return async (request: FastifyRequest) => {
    const { state = 'open', limit: text } = request.query as XStatic<typeof attemptsQuery>
    const limit = readLimit(text, { least: 1, most: 999, usual: 100 })
    const attempts = await store.attemptsIn(state, limit + 1)
    const now = clock.now()
    const data = attempts.slice(0, limit).map(async (attempt) => ({
      ...toOperatorAttempt(attempt),
      age_seconds: Math.max(0, Math.floor((now - attempt.openedAt) / 1000)),
      // Null where the row of the task is gone: its owner deleted it, or it is past the record retention.
      task_state: (await store.find(attempt.task))?.state ?? null,
    }))
    return { ...toWireList(await Promise.all(data)), has_more: attempts.length > limit }
  }
}

/**
 * `missing` are those that unfinished tasks wait for and nobody configured; `elsewhere` are other processes' own,
 * which can't be resumed here.
 */
export function listAccounts({ store, accounts, healths, clock }: OperatorDependencies) {
  return async () => {
    await healths.learn()
    const now = clock.now()
    const others = (await store.accountsInUse()).filter((name) => !accounts.has(name))
    const [elsewhere, missing] = [others.filter(isLocalName), others.filter((name) => !isLocalName(name))]
    const shown = [...accounts.values()].map((account) => toOperatorAccount(account, now))
    return { ...toWireList(shown), missing, elsewhere }
  }
}

/**
 * For who mended what was wrong: the account is as good as new, until it shows otherwise. `was_paused`: whether that
 * changed anything; one that was recovering is let off that too.
 */
export function resumeAccount({ accounts, healths, clock, log }: OperatorDependencies) {
  return async (request: FastifyRequest) => {
    const { name } = request.params as { name: string }
    const account = accounts.get(name)
    if (!account) throw accountNotFound(name, [...accounts.keys()])
    await healths.learn()
    const paused = account.health.reason !== null
    account.health = healthy
    await healths.tell(name)
    log.info('account resumed', { account: name, operator: request.token.name, paused })
    return { ...toOperatorAccount(account, clock.now()), was_paused: paused }
  }
}

export function taskNotFound(id: string): Problem {
  return new Problem('video_not_found', `Task '${id.slice(0, 100)}' not found.`)
}

function accountNotFound(name: string, configured: string[]): Problem {
  if (isLocalName(name)) {
    const whose = `'${name.slice(0, 100)}' would be another process's own account, and can't be resumed here.`
    const instead = 'Its pause ends by itself, or when that process is restarted.'
    return new Problem('account_not_found', `${whose} ${instead}`, { param: 'name' })
  }
  const there = configured.length > 0 ? `Configured are: ${configured.join(', ')}.` : 'None is configured.'
  return new Problem('account_not_found', `There is no account '${name.slice(0, 100)}'. ${there}`, { param: 'name' })
}
