import { type CardTemplate, type Shapes, sizesOf } from '../../core/catalog.ts'
import type { ParameterRule } from '../../core/parameters.ts'
import { perSecond } from '../../core/prices.ts'
import { lastImage } from '../kit/parameters.ts'
import type { Cards } from '../provider.ts'

/** Kling's sizes have no pixels. Its resellers use 720p or 1080p for the shorter side, and so do we. */
export const shapes: Shapes = {
  '1280x720': { resolution: '720p', ratio: '16:9' },
  '720x1280': { resolution: '720p', ratio: '9:16' },
  '720x720': { resolution: '720p', ratio: '1:1' },
  '1920x1080': { resolution: '1080p', ratio: '16:9' },
  '1080x1920': { resolution: '1080p', ratio: '9:16' },
  '1080x1080': { resolution: '1080p', ratio: '1:1' },
  '3840x2160': { resolution: '4k', ratio: '16:9' },
  '2160x3840': { resolution: '4k', ratio: '9:16' },
  '2160x2160': { resolution: '4k', ratio: '1:1' },
}

const upTo1080p: Shapes = Object.fromEntries(Object.entries(shapes).filter(([, { resolution }]) => resolution !== '4k'))

const settings: Record<string, ParameterRule> = {
  audio: {
    type: 'boolean',
    description: 'whether the video has sound, for a higher price; default false',
  },
  multi_shot: { type: 'boolean', description: 'whether the video may cut between shots; default true' },
}

const listed = { on: '2026-09', source: "a third party's copy of Kling's price list" }
/** The price with sound is not known. */
const silent = perSecond({ ...listed, audio: false }, { '720p': '0.084', '1080p': '0.112' })
const keptMs = 30 * 24 * 3_600_000

const common = {
  provider: 'kling',
  seconds: { min: 3, max: 15, default: 5 },
  image: 'optional',
  pollAfterMs: 5_000,
  // Kling shows a failed task with a bill of 0.
  failuresBilled: false,
} satisfies Partial<CardTemplate>

export const klingCards: Cards = [
  {
    ...common,
    id: 'kling-3.0',
    upstreamModel: 'kling-3.0',
    created: 1_771_977_600,
    description: 'Kling 3.0: text or a first frame to video, up to 4K; with an image, the video has its aspect ratio',
    size: sizesOf(shapes, '1280x720'),
    parameters: {
      ...settings,
      last_image: lastImage,
    },
    facts: {
      audio: 'optional',
      imageIs: 'first frame',
      keptMs,
      usuallyMs: 135_000,
      price: silent,
    },
  },
  {
    ...common,
    id: 'kling-3.0-turbo',
    upstreamModel: 'kling-3.0-turbo',
    created: 1_781_654_400,
    description: 'Kling 3.0 Turbo: faster, always with sound; with an image, the video has its aspect ratio',
    size: sizesOf(upTo1080p, '1280x720'),
    parameters: {},
    facts: {
      audio: 'always',
      imageIs: 'first frame',
      keptMs,
      usuallyMs: 30_000,
      price: perSecond(listed, { '720p': '0.112', '1080p': '0.14' }),
    },
  },
  {
    ...common,
    id: 'kling-3.0-omni',
    upstreamModel: 'kling-3.0-omni',
    created: 1_771_977_600,
    description: 'Kling 3.0 Omni: the image shows what the video contains; the prompt may refer to it as @image_1',
    size: sizesOf(shapes, '1280x720'),
    parameters: settings,
    facts: {
      audio: 'optional',
      imageIs: 'reference',
      keptMs,
      usuallyMs: 85_000,
      price: silent,
    },
  },
]
