import type { Client } from './shape.ts'

const api = 'openrouter.ai/docs/api/api-reference/video-generation/create-videos'
const python = 'openrouter.ai/docs/client-sdks/python/api-reference/videogeneration'
const rust = 'docs.rs/openrouter-rs 0.9.0, src/api/videos.rs'
const inworld = 'docs.inworld.ai/router/reference-to-video'
const veo = { model: 'google/veo-3.1', prompt: 'a mountain at sunset' }
const image = (url: string) => ({ type: 'image_url', image_url: { url } })
const made = { seconds: '8', size: '1280x720' }

export const openrouter: Client = {
  client: 'OpenRouter',
  shapes: [
    {
      what: 'text',
      source: python,
      body: { ...veo, aspect_ratio: '16:9', duration: 8, resolution: '720p' },
      expected: made,
    },
    { what: 'size in place of both', source: api, body: { ...veo, duration: 8, size: '1280x720' }, expected: made },
    {
      what: 'the first frame',
      source: rust,
      body: { ...veo, duration: 8, frame_images: [{ ...image('$image'), frame_type: 'first_frame' }] },
      expected: made,
    },
    {
      what: 'both frames',
      source: rust,
      body: {
        ...veo,
        frame_images: [
          { ...image('$image'), frame_type: 'first_frame' },
          { ...image('$url'), frame_type: 'last_frame' },
        ],
      },
      expected: { refused: 'frame_images[1].image_url.url' },
    },
    {
      what: 'one reference',
      source: rust,
      body: { ...veo, duration: 8, input_references: [image('$image')] },
      expected: made,
    },
    {
      what: 'a video as a reference',
      source: inworld,
      body: { ...veo, input_references: [{ type: 'video_url', video_url: { url: '$url' } }] },
      expected: { refused: 'input_references.video_url' },
    },
    { what: 'sound', source: api, body: { ...veo, generate_audio: true }, expected: { refused: 'generate_audio' } },
    {
      what: 'a callback',
      source: api,
      body: { ...veo, callback_url: 'https://example.com/hook' },
      expected: { refused: 'callback_url' },
    },
    { what: 'a seed', source: api, body: { ...veo, duration: 8, seed: 42 }, expected: made },
  ],
}
