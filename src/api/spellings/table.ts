/*
 * The fields that clients of other services send, and their meaning here. Data only: `../spellings.ts` reads it,
 * docs/api.md shows it. A name that is a parameter of the requested model keeps the model's meaning.
 */

/** `first frame`: the reference image. `last frame`: only for models with `last_image`. */
type Meaning = 'seconds' | 'size' | 'resolution' | 'aspect_ratio' | 'first frame' | 'last frame'

/** Other names of our fields, each with the clients that send it. */
export const otherNames: Readonly<Record<string, { means: Meaning; sentBy: string }>> = {
  duration: { means: 'seconds', sentBy: 'new-api, xAI, OpenRouter, AI SDK' },
  n_seconds: { means: 'seconds', sentBy: 'Azure Sora 1' },
  ratio: { means: 'aspect_ratio', sentBy: 'Seedance, Runway' },
  resolution_name: { means: 'resolution', sentBy: 'infinite-canvas' },
  image_url: { means: 'first frame', sentBy: 'fal, CLIProxyAPI' },
  'input_reference.image_url': { means: 'first frame', sentBy: 'CLIProxyAPI' },
  images: { means: 'first frame', sentBy: 'new-api, Vidu' },
  input_references: { means: 'first frame', sentBy: 'OpenRouter' },
  frame_images: { means: 'first frame', sentBy: 'OpenRouter' },
  reference_images: { means: 'first frame', sentBy: 'xAI, CLIProxyAPI' },
  reference_image_urls: { means: 'first frame', sentBy: 'CLIProxyAPI' },
  reference_url: { means: 'first frame', sentBy: 'SGLang' },
  image_reference: { means: 'first frame', sentBy: 'vLLM-Omni' },
  first_frame: { means: 'first frame', sentBy: 'Seedance' },
  first_frame_image: { means: 'first frame', sentBy: 'MiniMax Hailuo' },
  first_frame_url: { means: 'first frame', sentBy: 'fal' },
  last_frame: { means: 'last frame', sentBy: 'Seedance' },
  last_frame_image: { means: 'last frame', sentBy: 'MiniMax Hailuo' },
  last_frame_url: { means: 'last frame', sentBy: 'fal' },
  image_tail: { means: 'last frame', sentBy: 'Kling' },
  end_image_url: { means: 'last frame', sentBy: 'fal' },
}

/** Two fields that together are one of ours. */
export const pair = { names: ['width', 'height'], means: 'size', sentBy: 'new-api, Azure Sora 1' } as const

/** They have no effect in `metadata`, so they are refused there. */
export const namesElsewhere: readonly string[] = [...Object.keys(otherNames), ...pair.names]

/** Other ways to write the value of a field. */
export const otherValues: readonly { field: Meaning; written: readonly string[]; means: string }[] = [
  { field: 'seconds', written: ['5.0', '5s'], means: '5' },
  { field: 'size', written: ['1280*720', '1280X720', '1280×720', '1280:720'], means: '1280x720' },
  { field: 'size', written: ['720p'], means: 'resolution 720p' },
  { field: 'size', written: ['16:9'], means: 'aspect_ratio 16:9' },
  { field: 'resolution', written: ['720P', '720'], means: '720p' },
  { field: 'resolution', written: ['1280x720'], means: 'size 1280x720' },
  { field: 'aspect_ratio', written: ['landscape'], means: '16:9' },
  { field: 'aspect_ratio', written: ['portrait'], means: '9:16' },
  { field: 'aspect_ratio', written: ['square'], means: '1:1' },
]

/**
 * Fields that are accepted with these values, or with any value if there is no list, and have no effect. `instead` is
 * the advice for any other value; without it the field is then checked like any other.
 */
export const withoutEffect: Readonly<Record<string, { values?: readonly string[]; instead?: string }>> = {
  user: {},
  private: { values: ['true', 'false'], instead: 'Every video is visible to its own token only.' },
  n: { values: ['1'], instead: 'Send one request for each video.' },
  n_variants: { values: ['1'], instead: 'Send one request for each video.' },
  response_format: {
    values: ['url', 'mp4'],
    instead: 'The video is an MP4 file at GET /v1/videos/{id}/content.',
  },
  async: { values: ['true'], instead: 'Every video is generated asynchronously: poll it by its id.' },
  stream: { values: ['false'], instead: 'Follow the video at GET /v1/videos/{id}/events.' },
  watermark: { values: ['false'], instead: 'This model adds no watermark.' },
  preset: { values: ['normal'], instead: 'There are no presets: describe it in the prompt.' },
  seed: { values: ['-1'] },
}
