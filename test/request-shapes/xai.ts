import type { Client } from './shape.ts'

const handler = 'router-for-me/CLIProxyAPI, sdk/api/handlers/openai/openai_videos_handlers.go'
const tests = `${handler.replace('.go', '_test.go')}`
const sdk = '@ai-sdk/xai 5.0.12, xai-video-model.ts'
const path = '/v1/videos/generations'
const grok = { model: 'grok-imagine-video', prompt: 'a fox' }

export const xai: Client = {
  client: 'xAI and the AI SDK',
  shapes: [
    {
      what: 'text',
      source: sdk,
      path,
      body: { ...grok, duration: 6, aspect_ratio: '16:9', resolution: '720p' },
      expected: { seconds: '6', size: '1280x720' },
    },
    {
      what: 'a tall video',
      source: sdk,
      path,
      body: { ...grok, duration: 6, aspect_ratio: '9:16', resolution: '1080p' },
      expected: { seconds: '6', size: '1080x1920' },
    },
    {
      what: '480p, which has no exact 16:9',
      source: sdk,
      path,
      body: { ...grok, aspect_ratio: '16:9', resolution: '480p' },
      expected: { refused: 'aspect_ratio' },
    },
    {
      what: '3:2',
      source: sdk,
      path,
      body: { ...grok, duration: 6, aspect_ratio: '3:2', resolution: '720p' },
      expected: { seconds: '6', size: '1080x720' },
    },
    {
      what: 'the first frame',
      source: sdk,
      path,
      body: { ...grok, duration: 6, image: { url: '$image' } },
      expected: { seconds: '6', size: '1280x720' },
    },
    {
      what: 'the first and the last frame',
      source: sdk,
      path,
      body: { ...grok, image: { url: '$image' }, last_frame: { url: '$url' } },
      expected: { refused: 'last_frame.url' },
    },
    {
      what: 'one reference image',
      source: sdk,
      path,
      body: { ...grok, duration: 6, reference_images: [{ url: '$image' }] },
      expected: { seconds: '6', size: '1280x720' },
    },
    {
      what: 'two reference images',
      source: sdk,
      path,
      body: { ...grok, reference_images: [{ url: '$image' }, { url: '$url' }] },
      expected: { refused: 'reference_images[1].url' },
    },
    {
      what: 'user',
      source: sdk,
      path,
      body: { ...grok, duration: 6, user: 'u1' },
      expected: { seconds: '6', size: '1280x720' },
    },
    {
      what: 'sound',
      source: sdk,
      path,
      body: { ...grok, generate_audio: true },
      expected: { refused: 'generate_audio' },
    },
  ],
}

export const cliProxy: Client = {
  client: 'CLIProxyAPI',
  shapes: [
    {
      what: 'text',
      source: tests,
      body: { model: 'sora-2', prompt: 'a cat', seconds: '8' },
      expected: { seconds: '8', size: '1280x720' },
    },
    {
      what: 'an object',
      source: tests,
      body: {
        model: 'xai/grok-imagine-video',
        prompt: 'a cat',
        seconds: '8',
        size: '1280x720',
        input_reference: { image_url: '$url' },
      },
      expected: { seconds: '8', size: '1280x720' },
    },
    {
      what: 'an id of the Files API',
      source: tests,
      body: { prompt: 'animate', input_reference: { file_id: 'file_123' } },
      expected: { refused: 'input_reference.file_id' },
    },
    {
      what: 'a portrait of its own',
      source: tests,
      body: { model: 'sora-2', prompt: 'a video', size: '1080x1920' },
      expected: { seconds: '4', size: '1080x1920' },
    },
    {
      what: 'its own path',
      source: tests,
      path,
      body: { ...grok, prompt: 'make a video' },
      expected: { seconds: '4', size: '1280x720' },
    },
    {
      what: 'aspect_ratio as a word',
      source: handler,
      body: { ...grok, aspect_ratio: 'portrait' },
      expected: { seconds: '4', size: '720x1280' },
    },
    {
      what: 'square',
      source: handler,
      body: { ...grok, aspect_ratio: 'square' },
      expected: { seconds: '4', size: '720x720' },
    },
    {
      what: 'image with a chat message in it',
      source: handler,
      body: { ...grok, image: { image_url: { url: '$image' } } },
      expected: { seconds: '4', size: '1280x720' },
    },
    {
      what: 'image_url',
      source: handler,
      body: { ...grok, image_url: '$url' },
      expected: { seconds: '4', size: '1280x720' },
    },
    {
      what: 'image_url in a form',
      source: handler,
      as: 'form',
      body: { ...grok, image_url: '$image' },
      expected: { seconds: '4', size: '1280x720' },
    },
    {
      what: 'a name with a dot in a form',
      source: handler,
      as: 'form',
      body: { ...grok, 'input_reference.image_url': '$image' },
      expected: { seconds: '4', size: '1280x720' },
    },
    {
      what: 'a URL-encoded form',
      source: handler,
      as: 'urlencoded',
      body: { ...grok, seconds: '8', size: '1280x720', aspect_ratio: '16:9', resolution: '720p' },
      expected: { seconds: '8', size: '1280x720' },
    },
    {
      what: 'file_id in a form',
      source: handler,
      as: 'form',
      body: { ...grok, file_id: 'file_1' },
      expected: { refused: 'file_id' },
    },
    {
      what: 'reference_image_urls',
      source: handler,
      body: { ...grok, reference_image_urls: ['$url'] },
      expected: { seconds: '4', size: '1280x720' },
    },
  ],
}
