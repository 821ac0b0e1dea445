import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads'
import type { StoreMeter } from '../store.ts'
import { isDamage, suspect } from './check.ts'
import { type Failure, toProblem } from './failures.ts'
import type { Unit, Verbs } from './verbs.ts'
import type { UnitResult, WriterData } from './writer.ts'

/** The writer thread as the main thread uses it. */
export interface Writer {
  write<Name extends keyof Verbs>(verb: Name, ...args: Parameters<Verbs[Name]>): Promise<ReturnType<Verbs[Name]>>
  close(): Promise<void>
}

interface Waiting {
  unit: Unit
  resolve: (value: never) => void
  reject: (error: unknown) => void
}

interface WriterEvents {
  commit: () => void
  fatal: (error: Error) => void
  meter?: StoreMeter | undefined
}

/** Up to two batches are in flight, so that the writer does not wait for this thread. Later units wait for the next batch. */
export function startWriter(path: string, on: WriterEvents): Writer {
  // receiveMessageOnPort can't read from a Worker, so results have a port of their own.
  const { port1: results, port2 } = new MessageChannel()
  const workerData: WriterData = { path, results: port2 }
  const thread = new Worker(new URL('./writer.ts', import.meta.url), { workerData, transferList: [port2] })
  let waiting: Waiting[] = []
  const inFlight: { batch: Waiting[]; begun: number }[] = []
  let dead: Error | undefined

  const flush = () => {
    if (inFlight.length === 2 || waiting.length === 0) return
    const batch = waiting
    inFlight.push({ batch, begun: on.meter?.begin() ?? 0 })
    on.meter?.batch('group', batch.length)
    waiting = []
    // As text, because cloning many small objects costs twice as much.
    thread.postMessage(JSON.stringify(batch.map(({ unit }) => unit)))
  }
  /** A damaged database is neither read nor written any more. */
  const stopAt = ({ message }: Failure) => {
    if (dead) return
    suspect(path, message)
    on.fatal(die(new Error(`the database ${path} is damaged (${message}); start again to have it checked`)))
  }
  const settle = (message: string) => {
    const { batch: settled, begun } = inFlight.shift() ?? { batch: [], begun: undefined }
    try {
      on.commit()
    } catch (thrown) {
      // What was committed is settled nevertheless.
      on.fatal(die(thrown instanceof Error ? thrown : new Error(String(thrown))))
    }
    const outcomes = JSON.parse(message) as UnitResult[]
    if (begun !== undefined) on.meter?.end(begun)
    flush()
    outcomes.forEach((outcome, at) => {
      if ('value' in outcome) settled[at]?.resolve(outcome.value as never)
      else settled[at]?.reject(toProblem(outcome.failure))
    })
    const damage = outcomes.find((outcome) => 'failure' in outcome && isDamage(outcome.failure.errcode))
    if (damage && 'failure' in damage) stopAt(damage.failure)
  }
  /** Returns the first reason. */
  const die = (error: Error): Error => {
    if (dead) return dead
    dead = error
    for (const { reject } of [...inFlight.flatMap(({ batch }) => batch), ...waiting])
      reject(toProblem({ message: error.message, errcode: 10 }))
    inFlight.length = waiting.length = 0
    return error
  }
  /** Under load the `message` event comes only after many requests. A committed attempt must not wait for them. */
  const settleArrived = () => {
    for (let arrived = receiveMessageOnPort(results); arrived; arrived = receiveMessageOnPort(results))
      settle(arrived.message)
  }
  let closing = false
  results.on('message', settle).unref()
  const settleAndDie = (reason: Error): Error => {
    settleArrived()
    return die(reason)
  }
  thread.on('error', settleAndDie)
  const exited = new Promise((resolve) => thread.once('exit', resolve)).then(() => {
    const error = settleAndDie(new Error('the writer thread ended'))
    if (!closing) on.fatal(error)
  })

  return {
    write(verb, ...args) {
      return new Promise((resolve, reject) => {
        settleArrived()
        if (dead) return reject(toProblem({ message: dead.message, errcode: 10 }))
        waiting.push({ unit: { verb, args } as Unit, resolve, reject })
        // Later writes of this turn of the event loop join the batch.
        if (waiting.length === 1) setImmediate(flush)
      })
    },
    async close() {
      closing = true
      thread.postMessage(null)
      await exited
    },
  }
}
