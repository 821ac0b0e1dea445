import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type CardTemplate, toCard } from './catalog.ts'
import { findListed, readPriceList } from './price-lists.ts'

it("reads the video models of LiteLLM's list, and names the prices that it does not understand", () => {
  const list = readPriceList({
    sample_spec: { litellm_provider: 'one of', mode: 'chat' },
    'gpt-9': { litellm_provider: 'openai', mode: 'chat', output_cost_per_token: 1e-6 },
    'vertex_ai/veo-3.1-generate-001': {
      litellm_provider: 'vertex_ai-video-models',
      mode: 'video_generation',
      output_cost_per_second: 0.4,
      output_cost_per_video_per_second: 0.4,
      output_cost_per_video_per_second_1080p: 0.0000025,
      output_cost_per_token: 1,
      source: 'https://example.com',
    },
    'acme/clip': { litellm_provider: 'acme', mode: 'video_generation', output_cost_per_video: 0.2 },
    'acme/odd': { litellm_provider: 'acme', mode: 'video_generation', output_cost_per_second: 'free' },
  })
  assert.deepEqual(list, {
    publisher: 'LiteLLM',
    models: [
      {
        name: 'vertex_ai/veo-3.1-generate-001',
        lines: [
          { unit: 'second', price: '0.4' },
          { unit: 'second', price: '0.0000025', resolution: '1080p' },
        ],
        unread: ['output_cost_per_token'],
      },
      { name: 'acme/clip', lines: [{ unit: 'video', price: '0.2' }], unread: [] },
      { name: 'acme/odd', lines: [], unread: ['output_cost_per_second'] },
    ],
  })
})

it("reads OpenRouter's list of video models", () => {
  const list = readPriceList({
    data: [
      {
        id: 'google/veo-3.1',
        pricing_skus: { duration_seconds_with_audio_4K: '0.6', duration_seconds_without_audio: '0.2' },
      },
      { id: 'runway/gen-4.5', pricing_skus: { cents_per_second_output: '12', video_tokens: '0.000007' } },
      { id: 'some/chat', pricing: { prompt: '1' } },
      { id: 7, pricing_skus: {} },
    ],
  })
  assert.deepEqual(list, {
    publisher: 'OpenRouter',
    models: [
      {
        name: 'google/veo-3.1',
        lines: [
          { unit: 'second', price: '0.6', resolution: '4k', audio: true },
          { unit: 'second', price: '0.2', audio: false },
        ],
        unread: [],
      },
      { name: 'runway/gen-4.5', lines: [{ unit: 'second', price: '0.12' }], unread: ['video_tokens'] },
    ],
  })
})

it('refuses everything else', () => {
  for (const value of [null, 7, 'x', [], {}, { models: [] }, { a: { b: 1 } }])
    assert.equal(readPriceList(value), undefined)
})

it('finds a model by its own name or by that at its provider, and one of a reseller only by the whole name', () => {
  const template: Omit<CardTemplate, 'id' | 'provider' | 'upstreamModel'> = {
    description: '',
    created: 0,
    seconds: { min: 1, max: 9, default: 1 },
    size: { values: ['1x1'], default: '1x1' },
    image: 'none',
    parameters: {},
    pollAfterMs: 1,
    failuresBilled: false,
  }
  const card = (id: string, provider: string, upstreamModel: string) =>
    toCard({ ...template, id, provider, upstreamModel }, ['main'])
  const names = ['vertex_ai/veo-3.1-generate-001', 'google/veo-3.1', 'fal_ai/fal-ai/veo3.1', 'x/y']
  const list = { publisher: 'LiteLLM', models: names.map((name) => ({ name, lines: [], unread: [] })) } as const
  const found = (one: ReturnType<typeof card>, renamed: [string, string][] = []) =>
    findListed(list, one, new Map(renamed))?.name
  assert.equal(found(card('veo-3.1', 'vertex', 'veo-3.1-generate-001')), 'vertex_ai/veo-3.1-generate-001')
  assert.equal(found(card('Veo-3.1', 'google', 'other')), 'google/veo-3.1')
  assert.equal(found(card('fal/veo-3.1', 'fal', 'fal-ai/veo3.1')), 'fal_ai/fal-ai/veo3.1')
  assert.equal(found(card('fal/veo-3.1', 'fal', 'fal-ai/veo4')), undefined)
  assert.equal(found(card('fal/veo-3.1', 'fal', 'fal-ai/veo4'), [['google/veo-3.1', 'fal/veo-3.1']]), 'google/veo-3.1')
  assert.equal(found(card('veo-3.1', 'google', 'z'), [['google/veo-3.1', 'fal/veo-3.1']]), undefined)
})
