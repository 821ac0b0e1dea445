import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Problem } from '../../core/problem.ts'
import type { Json } from '../../core/task.ts'
import type { Progress, Provider } from '../../providers/provider.ts'
import { newTask } from '../../stores/contract.ts'
import { makeWorld } from '../contract.ts'
import { poll } from '../poll.ts'

const running = (progress: number): Progress => ({ status: 'running', progress })

/** Polls tasks at the same moment. Returns the progress of each, or the code of its error, and the requests that it took. */
async function pollAtOnce(count: number, pollMany?: NonNullable<Provider['pollMany']>['poll']) {
  const world = await makeWorld(poll)
  const requests: Json[] = []
  world.answers.poll = async (operation) => {
    requests.push(operation)
    return running(10)
  }
  const account = world.tools.accounts.get('p')
  assert.ok(account)
  if (pollMany)
    Object.assign(account.provider, {
      pollMany: {
        most: 3,
        poll: (operations: readonly Json[], call: Parameters<typeof pollMany>[1]) => {
          requests.push([...operations])
          return pollMany(operations, call)
        },
      },
    })
  const tasks = Array.from({ length: count }, (_, at) =>
    newTask(String(at), { account: 'p', attempt: 'att_1', state: 'running', startedAt: 1, operation: `op ${at}` }),
  )
  const ends = await Promise.allSettled(tasks.map((task) => world.run(task)))
  const shown = ends.map((end) => (end.status === 'fulfilled' ? end.value.after?.progress : end.reason.code))
  return { progress: shown, requests }
}

it('tasks that are polled at the same moment share requests, if the provider can', async () => {
  const found = await pollAtOnce(
    5,
    async (operations) => new Map(operations.map((operation) => [operation, running(40)])),
  )
  assert.deepEqual(found.requests, [
    ['op 0', 'op 1', 'op 2'],
    ['op 3', 'op 4'],
  ])
  assert.deepEqual(found.progress, [40, 40, 40, 40, 40])
  assert.deepEqual((await pollAtOnce(2)).requests, ['op 0', 'op 1'])
})

it('a task that the shared response does not have is polled on its own, and so is one that shares with none', async () => {
  const found = await pollAtOnce(3, async () => new Map([['op 1', running(40)]]))
  assert.deepEqual(found, { requests: [['op 0', 'op 1', 'op 2'], 'op 0', 'op 2'], progress: [10, 40, 10] })
  assert.deepEqual((await pollAtOnce(1, () => assert.fail())).requests, ['op 0'])
})

it('if the shared request is refused, each task is polled on its own', async () => {
  const refused = new Problem('invalid_request', 'one id was refused')
  const found = await pollAtOnce(2, () => Promise.reject(refused))
  assert.deepEqual(found, { requests: [['op 0', 'op 1'], 'op 0', 'op 1'], progress: [10, 10] })
})

it('if the shared request fails, all polls have failed, and no more requests follow', async () => {
  const away = new Problem('provider_unavailable', 'away', { retryable: true })
  const found = await pollAtOnce(2, () => Promise.reject(away))
  const failed = 'provider_unavailable'
  assert.deepEqual(found, { requests: [['op 0', 'op 1']], progress: [failed, failed] })
})
