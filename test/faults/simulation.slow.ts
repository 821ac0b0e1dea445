import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { newAttemptId } from '../../src/core/attempt.ts'
import { callOf, requestOf, type Worker } from '../../src/workers/worker.ts'
import { judge } from './oracle.ts'
import { simulate, simulatedWorkers } from './simulation.ts'

const seed = Number(process.env.SEED ?? Math.floor(Date.now() / 1_000))

describe(`simulated crashes and faults (SEED=${seed} repeats them)`, () => {
  for (const recovery of ['key', 'lookup', 'list', 'none'] as const) {
    it(`${recovery}: nothing is lost, nothing is paid for twice, what is unknown has its reason`, async () => {
      const history = await simulate({ recovery, tasks: 300, seed })
      const { violations, accepts, unknown } = judge(history)
      assert.deepEqual(violations, [])
      assert.ok(history.lives > 5, `only ${history.lives} lives`)
      assert.ok(accepts > 30, `only ${accepts} accepts`)
      if (recovery === 'key' || recovery === 'lookup') assert.equal(unknown, 0)
    })
  }

  it('an account that resubmits does so once, says so, and then gives up', async () => {
    const history = await simulate({ recovery: 'none', onUnknown: 'resubmit', tasks: 200, seed })
    assert.deepEqual(judge(history).violations, [])
    const given = history.tasks.filter(({ error }) => error?.code === 'submission_unknown')
    // Their number depends on the crashes, each of which cuts off all running actions.
    for (const { prompt, attempts } of given) {
      const causes = [...(history.crashes.get(prompt) ?? []), ...(history.upstream.faults.get(prompt) ?? [])]
      assert.ok(attempts >= 2 && causes.length >= 2, `${prompt}: given up after ${causes.length}`)
    }
    assert.ok(history.tasks.some(({ state, attempts }) => state === 'completed' && attempts === 2))
  })

  it('before a resubmit the engine is looked up: a job that it may have accepted is not sent again', async () => {
    const history = await simulate({ recovery: 'list', onUnknown: 'resubmit', tasks: 300, seed })
    const { violations, resubmits } = judge(history)
    assert.deepEqual(violations, [])
    assert.ok(resubmits > 0, 'nothing was sent again')
  })

  it('a worker that takes what is listed for its own is caught', async () => {
    const workers = simulatedWorkers.map((worker) => (worker.name === 'submit' ? greedyOf(worker) : worker))
    const { violations } = judge(await simulate({ recovery: 'list', tasks: 300, seed, workers }))
    assert.ok(
      violations.some((text) => /another's|failed by us|wrong bytes/.test(text)),
      'the harness saw nothing wrong',
    )
  })

  it('a worker that commits its attempt after the send is caught', async () => {
    const workers = simulatedWorkers.map((worker) => (worker.name === 'submit' ? carelessOf(worker) : worker))
    const { violations } = judge(await simulate({ recovery: 'none', tasks: 300, seed, workers }))
    assert.ok(
      violations.some((text) => /accepts|nobody's/.test(text)),
      'the harness saw nothing wrong',
    )
  })
})

/** Breaks the rule on purpose: adopts what is listed, whatever other attempts exist, and treats it as a response. */
function greedyOf(submit: Worker): Worker {
  return {
    ...submit,
    async run(task, tools, action) {
      const decision = await submit.run(task, tools, { ...action, rivals: async () => [] })
      if ('fact' in decision && decision.fact) delete decision.fact.adopted
      return decision
    },
  }
}

/** Breaks the rule on purpose: sends the request first, and commits the attempt afterwards. */
function carelessOf(submit: Worker): Worker {
  return {
    ...submit,
    async run(task, tools, action) {
      const account = tools.accounts.get(task.account ?? '')
      if (task.state !== 'queued' || !account) return submit.run(task, tools, action)
      const id = newAttemptId(tools.random)
      const request = await requestOf(task, 'film', tools)
      const answer = await account.provider
        .submit(request, callOf(account, { ...task, attempt: id }, tools, action.signal))
        .catch(() => null)
      if (!answer || 'refused' in answer) return { change: { state: 'queued', dueAt: tools.clock.now() + 1_000 } }
      const now = tools.clock.now()
      await action.commit(
        { state: 'held', attempt: id, attempts: task.attempts + 1, dueAt: null },
        {
          id,
          task: task.id,
          number: task.attempts + 1,
          account: account.name,
          keyVersion: '1',
          upstreamModel: 'film',
          openedAt: now,
          state: 'open',
          operation: null,
          settledAt: null,
          problem: null,
        },
      )
      const { operation } = answer
      const fact = { id, state: 'accepted', operation, settledAt: now, problem: null } as const
      return { change: { state: 'running', startedAt: now, operation, dueAt: now }, fact }
    },
  }
}
