import type { Client } from './shape.ts'

const videos = 'docs.litellm.ai, docs/videos.md'
const of = (provider: string) => `docs.litellm.ai, docs/providers/${provider}/videos.md`
const tall = { seconds: '8', size: '720x1280' }
const film = { model: 'sora-2', prompt: 'a cat with a ball of yarn', seconds: '8', size: '720x1280' }

export const litellm: Client = {
  client: 'LiteLLM',
  shapes: [
    { what: 'text', source: videos, body: { ...film, model: 'openai/sora-2' }, expected: tall },
    {
      what: 'only a prompt and a model',
      source: videos,
      body: { model: 'sora-2', prompt: 'a sunset' },
      expected: { seconds: '4', size: '1280x720' },
    },
    { what: 'a file', source: videos, as: 'form', body: { ...film, input_reference: '$file' }, expected: tall },
    {
      what: 'a file and a user',
      source: videos,
      as: 'form',
      body: { ...film, input_reference: '$file', user: 'user_123' },
      expected: tall,
    },
    { what: 'its own deployment name', source: videos, body: { ...film, model: 'azure-sora-2' }, expected: tall },
    {
      what: 'Veo',
      source: of('gemini'),
      body: { model: 'veo-3', prompt: 'a cat' },
      expected: { seconds: '4', size: '1280x720' },
    },
    {
      what: 'Veo with seconds',
      source: of('vertex_ai'),
      body: { model: 'veo-3', prompt: 'a city', seconds: '8' },
      expected: { seconds: '8', size: '1280x720' },
    },
    {
      what: 'Runway: a URL as text, a number of seconds',
      source: of('runwayml'),
      body: { model: 'runwayml/gen4_turbo', prompt: 'a lake', input_reference: '$url', seconds: 5, size: '1280x720' },
      expected: { seconds: '5', size: '1280x720' },
    },
    {
      what: 'Runway: ratio in pixels',
      source: of('runwayml'),
      body: { model: 'runwayml/gen4_turbo', prompt: 'a lake', input_reference: '$url', ratio: '1280:720' },
      expected: { seconds: '4', size: '1280x720' },
    },
  ],
}
