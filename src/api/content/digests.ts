import { Worker } from 'node:worker_threads'
import { openFairTurns } from '../../core/fair.ts'
import type { DigestMessage } from './digest-thread.ts'

/** A SHA-256 that another thread computes. Disposing it is needed only if it did not end. */
interface Digest extends Disposable {
  /** The chunk must not change until this resolves. It is copied, unless its memory is shared. */
  update(chunk: Uint8Array): Promise<void>
  /** Ends it. In hexadecimal digits. */
  result(): Promise<string>
}

interface Digests extends AsyncDisposable {
  begin(owner: string): Digest
}

/** The thread computes one chunk while the next one is sent to it. Other chunks wait in turns by owner. */
const limits = { slots: 2 }

/** The thread starts with the first digest: it takes some megabytes of memory. */
export function openDigests(): Digests {
  let thread: Thread | undefined
  let count = 0
  const turns = openFairTurns(limits)
  return {
    begin(owner) {
      if (!thread || thread.isDead()) thread = startThread()
      const { ask } = thread
      const id = count++
      let isEnded = false
      const result = () => {
        isEnded = true
        return ask({ id })
      }
      return {
        async update(chunk) {
          using _turn = await turns.take(owner)
          await ask({ id, chunk })
        },
        result,
        [Symbol.dispose]() {
          if (!isEnded) result().catch(() => {})
        },
      }
    },
    async [Symbol.asyncDispose]() {
      await thread?.stop()
    },
  }
}

interface Thread {
  /** Messages are answered in their order. */
  ask(message: DigestMessage): Promise<string>
  isDead(): boolean
  stop(): Promise<unknown>
}

function startThread(): Thread {
  const worker = new Worker(new URL('./digest-thread.ts', import.meta.url))
  const waiting: PromiseWithResolvers<string>[] = []
  let dead: Error | undefined
  const die = (error: Error) => {
    dead ??= error
    for (const { reject } of waiting.splice(0)) reject(dead)
  }
  worker.on('message', (answer: string) => waiting.shift()?.resolve(answer))
  worker.on('error', die)
  worker.on('exit', () => die(new Error('the digest thread ended')))
  // It does not keep the process alive.
  worker.unref()
  return {
    ask(message) {
      if (dead) return Promise.reject(dead)
      const answer = Promise.withResolvers<string>()
      waiting.push(answer)
      worker.postMessage(message)
      return answer.promise
    },
    isDead: () => dead !== undefined,
    stop: () => worker.terminate(),
  }
}
