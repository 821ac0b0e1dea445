import { type CardFacts, type CardTemplate, type Shapes, sizesOf } from '../../core/catalog.ts'
import type { ParameterRule } from '../../core/parameters.ts'
import { lastImage } from '../kit/parameters.ts'
import type { Cards } from '../provider.ts'

/** The input fields of one model: nearly every model names them differently. */
interface Dialect {
  /** The model for requests with an image, if it is another one. */
  readonly withImage?: string
  /** The field of the first frame. */
  readonly image: string
  /** The fields of the size: a resolution and a ratio, `size` as `1280*720`, or none. */
  readonly shape: readonly ('resolution' | 'aspect_ratio' | 'size')[]
  readonly shapes: Shapes
  /** Its names of parameters, where they differ from ours. */
  readonly names?: Readonly<Record<string, string>>
}

const wide: Shapes = {
  '1280x720': { resolution: '720p', ratio: '16:9' },
  '720x1280': { resolution: '720p', ratio: '9:16' },
  '1920x1080': { resolution: '1080p', ratio: '16:9' },
  '1080x1920': { resolution: '1080p', ratio: '9:16' },
}
/** Wan accepts pixels, or a resolution if there is an image. */
const wan: Shapes = {
  '832x480': { resolution: '480p', ratio: '16:9' },
  '480x832': { resolution: '480p', ratio: '9:16' },
  ...wide,
}
/** ByteDance's sizes. Videos of 1.0 differ from them by a few pixels. */
const seedance: Shapes = {
  ...wide,
  '960x960': { resolution: '720p', ratio: '1:1' },
  '1112x834': { resolution: '720p', ratio: '4:3' },
  '834x1112': { resolution: '720p', ratio: '3:4' },
  '1470x630': { resolution: '720p', ratio: '21:9' },
  '864x496': { resolution: '480p', ratio: '16:9' },
  '496x864': { resolution: '480p', ratio: '9:16' },
  '640x640': { resolution: '480p', ratio: '1:1' },
  '752x560': { resolution: '480p', ratio: '4:3' },
  '560x752': { resolution: '480p', ratio: '3:4' },
  '992x432': { resolution: '480p', ratio: '21:9' },
  '1440x1440': { resolution: '1080p', ratio: '1:1' },
  '1664x1248': { resolution: '1080p', ratio: '4:3' },
  '1248x1664': { resolution: '1080p', ratio: '3:4' },
  '2206x946': { resolution: '1080p', ratio: '21:9' },
}
/** It generates 1080p only, and accepts only a ratio. */
const kling: Shapes = {
  '1920x1080': { resolution: '1080p', ratio: '16:9' },
  '1080x1920': { resolution: '1080p', ratio: '9:16' },
  '1440x1440': { resolution: '1080p', ratio: '1:1' },
}
/** 16:9 without an image; with one, the ratio of the image. */
const hailuo: Shapes = {
  '1366x768': { resolution: '768p', ratio: '16:9' },
  '1920x1080': { resolution: '1080p', ratio: '16:9' },
}

/** For models without a card, which an operator configured by name. */
export const usualDialect: Dialect = { image: 'image', shape: ['resolution', 'aspect_ratio'], shapes: seedance }

/** By Replicate's name of the model. */
export const dialects: Readonly<Record<string, Dialect>> = {
  'google/veo-3.1': {
    image: 'image',
    shape: ['resolution', 'aspect_ratio'],
    shapes: wide,
    names: { audio: 'generate_audio', last_image: 'last_frame' },
  },
  'bytedance/seedance-1-pro': {
    image: 'image',
    shape: ['resolution', 'aspect_ratio'],
    shapes: seedance,
    names: { last_image: 'last_frame_image' },
  },
  'kwaivgi/kling-v2.5-turbo-pro': { image: 'start_image', shape: ['aspect_ratio'], shapes: kling },
  'wan-video/wan-2.5-t2v': { withImage: 'wan-video/wan-2.5-i2v', image: 'image', shape: ['size'], shapes: wan },
  'wan-video/wan-2.5-i2v': { image: 'image', shape: ['resolution'], shapes: wan },
  'minimax/hailuo-2.3': { image: 'first_frame_image', shape: ['resolution'], shapes: hailuo },
}

const seed: ParameterRule = {
  type: 'integer',
  minimum: 0,
  maximum: 2 ** 31 - 1,
  description: 'the same seed gives nearly the same video',
}
const negative: ParameterRule = { type: 'string', maxLength: 2_000, description: 'what the video must not show' }

/** Replicate does not say whether failures are billed, so we count them as billed. */
const common = { provider: 'replicate', image: 'optional', pollAfterMs: 5_000, failuresBilled: true } as const
/** Replicate removes all data of a prediction after an hour. */
const facts: CardFacts = { audio: 'never', imageIs: 'first frame', price: null, keptMs: 3_600_000, usuallyMs: null }

export const replicateCards: Cards = [
  {
    ...common,
    id: 'replicate/veo-3.1',
    upstreamModel: 'google/veo-3.1',
    created: 1_760_486_400,
    description: "Google's Veo 3.1 at Replicate: up to 1080p, with sound",
    seconds: { values: [4, 6, 8], default: 8 },
    size: sizesOf(wide, '1280x720'),
    parameters: {
      seed,
      negative_prompt: negative,
      last_image: lastImage,
      audio: { type: 'boolean', description: 'whether the video has sound; default true' },
    },
    facts: { ...facts, audio: 'optional' },
  },
  {
    ...common,
    id: 'replicate/seedance-1-pro',
    upstreamModel: 'bytedance/seedance-1-pro',
    created: 1_749_686_400,
    description: "ByteDance's Seedance 1.0 Pro at Replicate: up to 1080p and 12 seconds, silent",
    seconds: { min: 2, max: 12, default: 5 },
    size: sizesOf(seedance, '1280x720'),
    parameters: {
      seed,
      last_image: lastImage,
      camera_fixed: { type: 'boolean', description: 'whether the camera stands still' },
    },
    facts,
  },
  {
    ...common,
    id: 'replicate/kling-2.5-turbo-pro',
    upstreamModel: 'kwaivgi/kling-v2.5-turbo-pro',
    created: 1_758_585_600,
    description: "Kuaishou's Kling 2.5 Turbo Pro at Replicate: 1080p, silent",
    seconds: { values: [5, 10], default: 5 },
    size: sizesOf(kling, '1920x1080'),
    parameters: { negative_prompt: negative },
    facts,
  },
  {
    ...common,
    id: 'replicate/wan-2.5',
    upstreamModel: 'wan-video/wan-2.5-t2v',
    created: 1_758_672_000,
    description: "Alibaba's Wan 2.5 at Replicate: up to 1080p, with sound",
    seconds: { values: [5, 10], default: 5 },
    size: sizesOf(wan, '1280x720'),
    parameters: {
      seed,
      negative_prompt: negative,
      enable_prompt_expansion: { type: 'boolean', description: 'whether the prompt is rewritten first' },
    },
    facts: { ...facts, audio: 'always' },
  },
  {
    ...common,
    id: 'replicate/hailuo-2.3',
    upstreamModel: 'minimax/hailuo-2.3',
    created: 1_761_609_600,
    description: "MiniMax's Hailuo 2.3 at Replicate: 10 seconds at 768p, 6 at 1080p, silent",
    seconds: { values: [6, 10], default: 6 },
    size: sizesOf(hailuo, '1366x768'),
    parameters: { prompt_optimizer: { type: 'boolean', description: 'whether the prompt is rewritten first' } },
    facts,
  },
] satisfies readonly CardTemplate[]
