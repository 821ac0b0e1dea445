import assert from 'node:assert/strict'
import { buffer } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import type { Json } from '../core/task.ts'
import type { Call, Provider, ProviderRequest } from './provider.ts'

export { picture } from './contract/case.ts'
export { testNetworkProvider } from './contract/network.ts'

/** What every provider must do. `open` gives one as after a restart: what it only held in memory is gone. */
export interface ProviderWorld {
  open(): Promise<Provider>
  request: ProviderRequest
  /** Ends when a poll may have something new to say. */
  pause(): Promise<void>
}

export function testProvider(name: string, makeWorld: () => Promise<ProviderWorld & AsyncDisposable>): void {
  describe(`the ${name} provider`, () => {
    it('makes a video: submit, poll until it succeeded, download', async () => {
      await using world = await makeWorld()
      const provider = await world.open()
      const operation = await submit(provider, world.request)
      assertMp4(await download(provider, await finish(provider, operation, world)))
    })

    it('finishes an operation that was begun before a restart', async () => {
      await using world = await makeWorld()
      const operation = await submit(await world.open(), world.request)
      const provider = await world.open()
      const stored = JSON.parse(JSON.stringify(operation)) as Json
      assertMp4(await download(provider, await finish(provider, stored, world)))
    })

    it('reports progress as a number from 0 to 100, or none', async () => {
      await using world = await makeWorld()
      const provider = await world.open()
      const operation = await submit(provider, world.request)
      const seen: number[] = []
      await finish(provider, operation, world, (progress) => seen.push(progress))
      for (const progress of seen) assert.ok(progress >= 0 && progress <= 100, String(progress))
    })

    it('forgets an operation, finished or not, as often as it is asked', async () => {
      await using world = await makeWorld()
      const provider = await world.open()
      const operation = await submit(provider, world.request)
      await provider.forget?.(operation, call())
      await provider.forget?.(operation, call())
    })

    it('knows its own operations by their looks, if it says anything of them, and takes nothing else for one', async () => {
      await using world = await makeWorld()
      const provider = await world.open()
      const { operations } = provider
      if (!operations) return
      const operation = JSON.parse(JSON.stringify(await submit(provider, world.request))) as Json
      assert.equal(operations.fits(operation, attemptIds[0]), true)
      assert.notEqual(operations.example, '')
      for (const odd of [null, true, 7, '', ' ', '.', '..', '../..', 'a/b', [], {}, { id: {} }, [operation]])
        assert.equal(operations.fits(odd, attemptIds[0]), false, JSON.stringify(odd))
    })
  })
}

/** As the engine names them. */
export const attemptIds = ['0', '1'].map((digit) => `att_${digit.repeat(36)}`) as [string, string]

export function call(attemptId = attemptIds[0]): Call {
  const none = () => Promise.reject(new Error('this provider has no network'))
  const { signal } = new AbortController()
  return { signal, attemptId, credential: null, now: () => 0, send: none, fetch: none, download: none }
}

/** The operation of a submit that is accepted. */
export async function submit(provider: Provider, request: ProviderRequest, attemptId = attemptIds[0]): Promise<Json> {
  const answer = await provider.submit(request, call(attemptId))
  assert.ok('operation' in answer)
  return answer.operation
}

export async function finish(
  provider: Provider,
  operation: Json,
  world: Pick<ProviderWorld, 'pause'>,
  onProgress: (progress: number) => void = () => {},
): Promise<Json> {
  for (;;) {
    const answer = await provider.poll(operation, call())
    if (answer.status === 'succeeded') return answer.output
    if (answer.status === 'failed') throw answer.problem
    assert.equal(answer.status, 'running', 'it does not know its own operation')
    if (answer.progress !== null) onProgress(answer.progress)
    await world.pause()
  }
}

export async function download(provider: Provider, output: Json): Promise<Buffer> {
  const { body } = await provider.download(output, call())
  assert.ok(body)
  return buffer(body)
}

function assertMp4(bytes: Buffer): void {
  assert.equal(bytes.toString('latin1', 4, 8), 'ftyp')
}
