import type { Client } from './shape.ts'

const n8n = 'n8n-io/n8n, nodes-langchain, OpenAi/v2/actions/video/generate.operation.ts'
const canvas = 'basketikun/infinite-canvas, web/src/services/api/video.ts'
const film = { model: 'sora-2', prompt: 'a cat with a ball', seconds: '4', size: '1280x720' }
const made = { seconds: '4', size: '1280x720' }

export const apps: Client = {
  client: 'n8n and infinite-canvas',
  shapes: [
    { what: 'n8n: text', source: n8n, as: 'form', body: film, expected: made },
    { what: 'n8n: a file', source: n8n, as: 'form', body: { ...film, input_reference: '$file' }, expected: made },
    {
      what: 'n8n: the wide size',
      source: n8n,
      as: 'form',
      body: { ...film, size: '1792x1024' },
      expected: { ...made, size: '1792x1024' },
    },
    {
      what: 'infinite-canvas: text',
      source: canvas,
      as: 'form',
      body: { ...film, resolution_name: '720p', preset: 'normal' },
      expected: made,
    },
    {
      what: 'infinite-canvas: a file in a list',
      source: canvas,
      as: 'form',
      body: { ...film, resolution_name: '720p', preset: 'normal', 'input_reference[]': '$file' },
      expected: made,
    },
    {
      what: 'infinite-canvas: a resolution that is not that of the size',
      source: canvas,
      as: 'form',
      body: { ...film, resolution_name: '480p', preset: 'normal' },
      expected: { refused: 'resolution_name' },
    },
  ],
}
