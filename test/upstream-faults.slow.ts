import assert from 'node:assert/strict'
import { connect, Socket, type TcpNetConnectOpts } from 'node:net'
import { after, before, describe, it } from 'node:test'
import {
  downloadFaults,
  type Fault,
  findFaults,
  type Mode,
  type NextFault,
  pollFaults,
  submitFaults,
} from '../simulators/upstream.ts'
import { Gateway, impatient } from './gateway.ts'
import { until } from './service.ts'

/*
 * The rows U1 to U10 of the fault matrix. Each fault has a task of its own, and each task an account of its own, so that
 * all of a kind run at once and do not affect each other.
 */

interface Gate {
  way: Gateway
}

/** Open while the tests of a group run: an account, and a model, for each of the names. */
function gateFor(mode: Mode, names: readonly string[], next: readonly NextFault[], more: object = {}): Gate {
  const gate = {} as Gate
  before(async () => {
    const accounts = Object.fromEntries(names.map((name) => [name, {}]))
    const models = Object.fromEntries(names.map((name) => [name, { account: name }]))
    gate.way = await Gateway.open({ mode, accounts, models, ...more })
    gate.way.upstream.setFaults({ next: [...next] })
  })
  after(() => gate.way[Symbol.asyncDispose]())
  return gate
}

const namesOf = (faults: readonly Fault[], pattern = /./) =>
  faults.map(({ name }) => name).filter((name) => pattern.test(name))
const onceEach = (names: readonly string[]) => often(names, 1)
const often = (names: readonly string[], times: number) =>
  names.flatMap((name) => Array.from({ length: times }, () => ({ fault: name, prompt: name })))
const together = <T, R>(items: readonly T[], each: (item: T) => Promise<R>) => Promise.all(items.map(each))

/** Submits one task for each name, which is its model's and its prompt. */
async function submitAll({ way }: Gate, names: readonly string[]): Promise<{ name: string; id: string }[]> {
  return together(names, async (name) => ({ name, id: await way.submit(name) }))
}

async function allNoted({ way }: Gate, tasks: readonly { id: string }[], event: string): Promise<void> {
  const look = async () => (await together(tasks, ({ id }) => way.isNoted(id, event))).every((noted) => noted)
  await until(`all have: ${event}`, look, 200)
}

/** Faults that leave unknown whether the job was accepted. */
const unclear = submitFaults.filter(
  ({ name }) => !/-(400|404|413|415|422|200-unknown|429.*|401|401-cut|402|403|refuse-connection)-before/.test(name),
)
const unclearNames = namesOf(unclear)

/** A port that never responds, not even with a refusal. */
function dialAllBut(silent: number): typeof connect {
  return ((options: TcpNetConnectOpts) => (options.port === silent ? new Socket() : connect(options))) as typeof connect
}

/** In seconds, as in the log. */
function pauseOf({ service }: Gateway, account: string): number {
  const lines = service.log.map(
    (line) => JSON.parse(line) as { event: string; account: string; time: string; until: string },
  )
  const line = lines.find((one) => one.event === 'account paused' && one.account === account)
  assert.ok(line, `the log does not say that ${account} pauses`)
  return Math.round((Date.parse(line.until) - Date.parse(line.time)) / 1000)
}

describe('an upstream that misbehaves', { concurrency: 3 }, () => {
  describe('U1, U3, U4: a submit without a usable response', { concurrency: 1 }, () => {
    describe('by a provider that knows a repeat by its key', () => {
      const gate = gateFor('key', unclearNames, onceEach(unclearNames))
      it(`becomes one video, for each of ${unclearNames.length} faults`, async () => {
        await together(await submitAll(gate, unclearNames), async ({ id, name }) => {
          await gate.way.makes(id, name)
          assert.deepEqual(await gate.way.attempts(id), [[name, 'accepted']])
        })
      })
    })

    describe('by a provider that can be asked by reference', () => {
      const gate = gateFor('lookup', unclearNames, onceEach(unclearNames))
      it('is found, or sent again when it surely is not there', async () => {
        const tasks = await submitAll(gate, unclearNames)
        const [there, notThere] = [true, false].map((is) =>
          tasks.filter((_task, at) => (unclear[at]?.accepted !== false) === is),
        ) as [typeof tasks, typeof tasks]
        await together(there, ({ id, name }) => gate.way.makes(id, name))
        await allNoted(gate, notThere, 'outcome unknown')
        for (const { name } of notThere) assert.equal(gate.way.accepts(name), 0, name)
        gate.way.clock.jump(2 * 60_000)
        await together(notThere, ({ id, name }) => gate.way.makes(id, name))
      })
    })

    describe('by a provider that offers nothing', () => {
      const gate = gateFor('none', unclearNames, onceEach(unclearNames))
      it('is held, never sent again, and fails after half an hour with submission_unknown', async () => {
        const tasks = await submitAll(gate, unclearNames)
        // A valid id beside 100 000 brackets is still an id.
        const clear = /-200-(deep|huge)-after/
        await together(tasks, async ({ id, name }) => clear.test(name) && gate.way.makes(id, name))
        const held = tasks.filter(({ name }) => !clear.test(name))
        await allNoted(gate, held, 'outcome unknown')
        for (const { id } of held) assert.equal((await gate.way.video(id)).status, 'queued')
        gate.way.clock.jump(31 * 60_000)
        await together(held, async ({ id, name }) => {
          await gate.way.fails(id, 'submission_unknown', name)
          assert.deepEqual(await gate.way.attempts(id), [[name, 'abandoned']])
        })
        assert.equal(gate.way.upstream.ledger().submits, unclearNames.length, 'each was sent once')
      })
    })

    describe('and whose repeat is refused', () => {
      const first = 'submit-500-after-accept'
      const second = namesOf(submitFaults, /-(429-seconds|401|403|422|404)-before/)
      const next = second.flatMap((name) => [first, name].map((fault) => ({ fault, prompt: name })))
      const gate = gateFor('key', second, next)
      it('still is the same attempt: what refuses a repeat says nothing of the first', async () => {
        const tasks = await submitAll(gate, second)
        await until('all are refused', async () => gate.way.upstream.ledger().faults.length === next.length)
        for (const name of second) await gate.way.service.operator(`/accounts/${name}/resume`, 'POST')
        await together(tasks, async ({ id, name }) => {
          await gate.way.makes(id, name)
          assert.deepEqual(await gate.way.attempts(id), [[name, 'accepted']])
        })
      })
    })
  })

  describe('U4: an unknown submit, and then nothing of use where it is asked after', { concurrency: 1 }, () => {
    for (const mode of ['lookup', 'list'] as const) {
      const names = namesOf(findFaults)
      const before = names.map((name) => ({ fault: 'submit-reset-after-accept', prompt: name }))
      const gate = gateFor(mode, names, [...before, ...names])
      it(`is asked after again, by ${mode}`, async () => {
        await together(await submitAll(gate, names), ({ id, name }) => gate.way.makes(id, name))
        const met = gate.way.upstream.ledger().faults.map(({ fault }) => fault)
        assert.deepEqual(
          names.filter((name) => !met.includes(name)),
          [],
        )
      })
    }
  })

  describe('U1: a hang', { concurrency: 1 }, () => {
    const hangs = [
      'submit-hang-before-accept',
      'poll-hang',
      'poll-hang-in-body',
      'download-hang',
      'download-hang-in-body',
    ]
    const long = { headersMs: 60_000, bodyIdleMs: 60_000, totalMs: 60_000 }
    const upstreamDeadlines = {
      ...impatient,
      ...long,
      downloadHeadersMs: 60_000,
      downloadIdleMs: 60_000,
      downloadPaceMs: 60_000,
    }
    const gate = gateFor('key', ['slow', 'quick'], onceEach(hangs), {
      accounts: { slow: { concurrency: hangs.length + 1 }, quick: {} },
      outbound: { upstreamDeadlines },
    })
    it('keeps up nobody else, of its own account or of another', async () => {
      const hung = await together(hangs, async (name) => ({ name, id: await gate.way.submit('slow', name) }))
      await until('all hang', () => gate.way.upstream.ledger().faults.length === hangs.length)
      for (const model of ['slow', 'quick']) {
        const prompt = `well ${model}`
        await gate.way.makes(await gate.way.submit(model, prompt), prompt)
      }
      for (const { id, name } of hung) assert.notEqual((await gate.way.video(id)).status, 'completed', name)
      // The other tests need short timeouts. With long ones the end of the service would wait for them.
      await gate.way.upstream[Symbol.asyncDispose]()
    })

    it('of the connection itself is known not to have sent anything: the next route has it', async () => {
      const silent = 9
      await using way = await Gateway.open({
        accounts: { silent: { base_url: `http://127.0.0.1:${silent}` }, quick: {} },
        models: { film: { routes: [{ account: 'silent' }, { account: 'quick', priority: 1 }] } },
        outbound: { dial: dialAllBut(silent), upstreamDeadlines: { ...impatient, connectMs: 200 } },
      })
      const id = await way.submit('film')
      await way.makes(id, 'film')
      assert.deepEqual(await way.attempts(id), [['quick', 'accepted']])
      assert.ok(await way.isNoted(id, 'attempt not sent'))
    })
  })

  describe('U2: an account that is busy', { concurrency: 1 }, () => {
    const names = namesOf(submitFaults, /-429/)
    const longest = 'submit-429-absurd-before-accept'
    const gate = gateFor('none', [...names, 'calm'], onceEach(names))
    it('pauses for a second to ten minutes, whatever it asks for; nothing fails and nothing is sent twice', async () => {
      const tasks = await submitAll(gate, names)
      await gate.way.makes(await gate.way.submit('calm'), 'calm')
      await together(tasks, async ({ id, name }) => {
        if (name !== longest) await gate.way.makes(id, name)
      })
      const pauses = Object.fromEntries(names.map((name) => [name, pauseOf(gate.way, name)]))
      const { [longest]: absurd, 'submit-429-date-before-accept': date = 0, ...others } = pauses
      assert.equal(absurd, 600)
      assert.ok(date >= 1 && date <= 2, `${date}`)
      assert.deepEqual(new Set(Object.values(others)), new Set([1]))
      assert.deepEqual((await gate.way.health(longest)).reason, 'busy')
      gate.way.clock.jump(10 * 60_000)
      await together(tasks, async ({ id, name }) => {
        await gate.way.makes(id, name)
        assert.deepEqual(await gate.way.attempts(id), [
          [name, 'refused'],
          [name, 'accepted'],
        ])
      })
    })
  })

  describe('U1, U3, U4, U5: a poll without a usable response', { concurrency: 1 }, () => {
    const names = namesOf(pollFaults).filter((name) => !['poll-failed', 'poll-policy'].includes(name))
    const gate = gateFor('none', names, often(names, 2))
    it(`is repeated, and nothing odd is told to the client, for each of ${names.length} faults`, async () => {
      await together(await submitAll(gate, names), ({ id, name }) => gate.way.makes(id, name))
    })
  })

  describe('U6, U7, U8: a result', { concurrency: 1 }, () => {
    const names = namesOf(downloadFaults)
    describe('that can not be had at first', () => {
      const gate = gateFor('none', [...names, 'expiring'], often(names, 2))
      it(`is fetched in the end, whole, for each of ${names.length} faults`, async () => {
        await together(await submitAll(gate, names), ({ id, name }) => gate.way.makes(id, name))
      })

      it('whose links expire at once is had by a link that does not', async () => {
        gate.way.upstream.setFaults({ linkMs: 0.001 })
        const id = await gate.way.submit('expiring')
        await allNoted(gate, [{ id }], 'result unusable')
        gate.way.upstream.setFaults({ linkMs: 0 })
        await gate.way.makes(id, 'expiring')
      })
    })

    describe('that can never be had', () => {
      const harmless = /ignores-range/
      const ever = names.filter((name) => !harmless.test(name))
      const gate = gateFor('none', ever, often(ever, 20))
      it('fails the task with a code that says why, when its time is over', async () => {
        const tasks = await submitAll(gate, ever)
        const unreached =
          /-(429|500|503|hang|close|reset|noise|length-too-(long|short)|cut|cut-chunks|reset-in-body|hang-in-body|drip)$/
        const useless = tasks.filter(({ name }) => !unreached.test(name))
        const others = tasks.filter(({ name }) => unreached.test(name))
        await allNoted(gate, useless, 'result unusable')
        await allNoted(gate, others, 'collect met a problem')
        gate.way.clock.jump(2 * 60_000)
        await together(useless, ({ id, name }) => {
          const code = /-(403|404|410|401|gzip|redirect-to-itself)$/.test(name)
            ? 'output_unavailable'
            : 'unsupported_output'
          return gate.way.fails(id, code, name)
        })
        for (const { id } of others) assert.equal((await gate.way.video(id)).status, 'in_progress')
        gate.way.clock.jump(48 * 3_600_000)
        await together(others, ({ id, name }) => gate.way.fails(id, 'provider_unavailable', name))
      })
    })
  })

  describe('U9: an account whose key or credit is refused', { concurrency: 1 }, () => {
    const names = namesOf(submitFaults, /-(401|402|403)-/)
    const gate = gateFor('none', names, onceEach(names), {
      accounts: Object.fromEntries([...names, 'spare'].map((name) => [name, {}])),
      models: {
        ...Object.fromEntries(names.map((name) => [name, { account: name }])),
        both: { routes: [{ account: names[0] }, { account: 'spare', priority: 1 }] },
      },
    })
    it('pauses with an alarm and fails nothing; another route serves at once, and the operator ends the pause', async () => {
      const tasks = await submitAll(gate, names)
      await allNoted(gate, tasks, 'attempt refused: account')
      for (const { id, name } of tasks) {
        const { state, reason } = await gate.way.health(name)
        assert.deepEqual([state, reason], ['paused', 'credentials'])
        const alarms = gate.way.service.log.filter((line) => line.includes(`"account":"${name}"`))
        assert.deepEqual(
          alarms.map((line) => /"level":"error".*account paused/.test(line)),
          [true],
        )
        assert.equal((await gate.way.video(id)).status, 'queued')
      }
      const id = await gate.way.submit('both')
      await gate.way.makes(id, 'both')
      assert.deepEqual(await gate.way.attempts(id), [['spare', 'accepted']])
      for (const name of names) await gate.way.service.operator(`/accounts/${name}/resume`, 'POST')
      await together(tasks, ({ id, name }) => gate.way.makes(id, name))
    })
  })

  describe('U10: a job that fails upstream', { concurrency: 1 }, () => {
    const gate = gateFor('none', ['poll-failed', 'later'], onceEach(['poll-failed']))
    it('fails for the client, and nothing that comes later changes that', async () => {
      const id = await gate.way.submit('poll-failed')
      await gate.way.fails(id, 'generation_failed')
      const [first, { requests }] = [await gate.way.video(id), gate.way.upstream.ledger()]
      gate.way.clock.jump(3_600_000)
      await gate.way.makes(await gate.way.submit('later'), 'later')
      assert.deepEqual(await gate.way.video(id), first)
      assert.equal(gate.way.upstream.ledger().faults.length, 1)
      assert.ok(gate.way.upstream.ledger().requests > requests, 'the later one was polled')
    })
  })
})
