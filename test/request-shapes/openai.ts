import type { Client } from './shape.ts'

const guide = 'OpenAI, Videos API reference and guide (platform.openai.com/docs/guides/video-generation)'
const node = 'openai-node 7.53, src/resources/videos.ts'
const wide = { seconds: '8', size: '1280x720' }
const film = { model: 'sora-2', prompt: 'a calico cat', seconds: '8', size: '1280x720' }

export const openai: Client = {
  client: "OpenAI's SDKs",
  shapes: [
    { what: 'text, JSON', source: 'openai-node 6.10', body: film, expected: wide },
    { what: 'text, form', source: node, as: 'form', body: film, expected: wide },
    { what: 'a file', source: node, as: 'form', body: { ...film, input_reference: '$file' }, expected: wide },
    {
      ...{ what: 'an object in a form', source: node, as: 'form' },
      ...{ body: { ...film, 'input_reference[image_url]': '$image' }, expected: wide },
    },
    {
      ...{ what: 'an object in JSON', source: guide },
      ...{ body: { ...film, input_reference: { image_url: '$image' } }, expected: wide },
    },
    {
      ...{ what: 'an id of the Files API', source: guide },
      ...{
        body: { ...film, input_reference: { file_id: 'file-abc123' } },
        expected: { refused: 'input_reference.file_id' },
      },
    },
    {
      ...{ what: 'an id of the Files API, in a form', source: node, as: 'form' },
      ...{ body: { ...film, 'input_reference[file_id]': 'file-1' }, expected: { refused: 'input_reference.file_id' } },
    },
    {
      ...{ what: 'a number of seconds', source: "Azure's samples for Sora 2 (learn.microsoft.com)" },
      ...{ body: { ...film, seconds: 8 }, expected: wide },
    },
    {
      what: 'the tall size of sora-2-pro',
      source: guide,
      body: { ...film, size: '1024x1792' },
      expected: { ...wide, size: '1024x1792' },
    },
    {
      what: 'only a prompt and a model',
      source: guide,
      body: { model: 'sora-2', prompt: 'a cat' },
      expected: { seconds: '4', size: '1280x720' },
    },
    {
      what: 'characters',
      source: guide,
      body: { ...film, characters: [{ id: 'char_1' }] },
      expected: { refused: 'characters' },
    },
    {
      ...{
        what: 'Sora 1: n_seconds, width, height, n_variants',
        source: 'Azure OpenAI, video generation jobs (preview)',
      },
      body: { model: 'sora', prompt: 'a cat', n_seconds: 5, width: 1280, height: 720, n_variants: 1 },
      expected: { seconds: '5', size: '1280x720' },
    },
  ],
}
