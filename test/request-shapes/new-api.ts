import type { Client } from './shape.ts'

const document = 'QuantumNous/new-api, docs/openapi/relay.json'
const request = 'QuantumNous/new-api, relay/common/relay_info.go (TaskSubmitReq)'
const of = (adaptor: string) => `QuantumNous/new-api, relay/channel/task/${adaptor}`
const old = '/v1/video/generations'
const kling = { model: 'kling-v1', prompt: 'an astronaut walks away' }
const made = { seconds: '5', size: '1280x720' }

export const newApi: Client = {
  client: 'new-api',
  shapes: [
    {
      what: 'a form with a file',
      source: document,
      as: 'form',
      body: { model: 'sora-2', prompt: 'a cat', seconds: '8', input_reference: '$file' },
      expected: { seconds: '8', size: '1280x720' },
    },
    {
      what: 'duration, width and height',
      source: document,
      path: old,
      body: { ...kling, duration: 5, width: 1280, height: 720 },
      expected: made,
    },
    {
      what: 'with an image',
      source: document,
      path: old,
      body: { ...kling, image: '$url', duration: 5, width: 1280, height: 720 },
      expected: made,
    },
    {
      what: 'with fps',
      source: document,
      path: old,
      body: { ...kling, duration: 5, width: 1280, height: 720, fps: 30 },
      expected: { refused: 'fps' },
    },
    {
      what: 'n, response_format and user',
      source: document,
      path: old,
      body: { ...kling, duration: 5, seed: 20231234, n: 1, response_format: 'url', user: 'user-1234' },
      expected: made,
    },
    { what: 'two videos', source: document, path: old, body: { ...kling, n: 2 }, expected: { refused: 'n' } },
    {
      what: 'metadata of its own',
      source: document,
      path: old,
      body: { ...kling, duration: 5, metadata: { style: 'noir', quality_level: 'high' } },
      expected: made,
    },
    {
      what: 'negative_prompt in metadata',
      source: document,
      servedBy: 'kling-3.0',
      body: { model: 'kling-v3', prompt: 'x', duration: 5, metadata: { negative_prompt: 'blur' } },
      expected: made,
    },
    { what: 'duration as text', source: request, body: { ...kling, duration: '5' }, expected: made },
    { what: 'seconds as text', source: request, body: { ...kling, seconds: '5' }, expected: made },
    { what: 'both, the same', source: request, body: { ...kling, seconds: '5', duration: 5 }, expected: made },
    {
      what: 'both, different',
      source: request,
      body: { ...kling, seconds: '5', duration: 10 },
      expected: { refused: 'duration' },
    },
    { what: 'image as base64', source: request, body: { ...kling, duration: 5, image: '$base64' }, expected: made },
    { what: 'images with one', source: request, body: { ...kling, duration: 5, images: ['$image'] }, expected: made },
    {
      what: 'images with two',
      source: request,
      body: { ...kling, images: ['$image', '$url'] },
      expected: { refused: 'images[1]' },
    },
    {
      what: 'input_reference as text',
      source: request,
      body: { ...kling, duration: 5, input_reference: '$url' },
      expected: made,
    },
    {
      what: 'image and images, the same',
      source: request,
      body: { ...kling, duration: 5, image: '$image', images: ['$image'] },
      expected: made,
    },
    {
      what: 'everything empty',
      source: request,
      body: { ...kling, mode: '', image: '', images: [], size: '', duration: 5, input_reference: '', metadata: {} },
      expected: made,
    },
    { what: 'mode', source: request, body: { ...kling, mode: 'pro', duration: 5 }, expected: { refused: 'mode' } },
    {
      what: 'metadata as JSON text',
      source: request,
      body: { ...kling, duration: 5, metadata: '{"job":"a"}' },
      expected: made,
    },
    {
      what: 'Wan: size with a star',
      source: of('ali'),
      body: { model: 'wan2.5-t2v-preview', prompt: 'x', size: '1280*720', duration: 5 },
      expected: made,
    },
    {
      what: 'Wan: resolution in capitals',
      source: of('ali'),
      body: { model: 'wan2.5-i2v-preview', prompt: 'x', size: '1080P', image: '$image', duration: 5 },
      expected: { seconds: '5', size: '1920x1080' },
    },
  ],
}
