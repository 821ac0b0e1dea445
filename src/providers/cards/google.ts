import { type CardTemplate, type Shapes, sizesOf } from '../../core/catalog.ts'
import { perSecond } from '../../core/prices.ts'
import type { Cards } from '../provider.ts'

export const shapes: Shapes = {
  '640x360': { resolution: '360p', ratio: '16:9' },
  '360x640': { resolution: '360p', ratio: '9:16' },
  '1280x720': { resolution: '720p', ratio: '16:9' },
  '720x1280': { resolution: '720p', ratio: '9:16' },
  '1920x1080': { resolution: '1080p', ratio: '16:9' },
  '1080x1920': { resolution: '1080p', ratio: '9:16' },
  '3840x2160': { resolution: '4k', ratio: '16:9' },
  '2160x3840': { resolution: '4k', ratio: '9:16' },
}

const common = {
  provider: 'google',
  size: sizesOf(shapes, '1280x720'),
  image: 'optional',
  parameters: {
    seed: { type: 'integer', minimum: 0, maximum: 2 ** 31 - 1, description: 'the same seed gives a similar video' },
  },
  pollAfterMs: 5_000,
  // Google bills output only, and a failure has none.
  failuresBilled: false,
  facts: {
    audio: 'always',
    imageIs: 'first frame',
    price: perSecond({ on: '2026-10', source: "Google's price list" }, { '720p': '0.10' }),
    keptMs: 48 * 3_600_000,
    usuallyMs: null,
  },
} as const satisfies Partial<CardTemplate>

export const cards: Cards = [
  {
    ...common,
    id: 'gemini-omni-1.2-flash',
    upstreamModel: 'gemini-omni-1.2-flash',
    created: 1_791_936_000,
    description: "Google's Gemini Omni 1.2 Flash: 3 to 15 seconds with sound, 1080p and 4k by upscaling",
    seconds: { min: 3, max: 15, default: 8 },
  },
  {
    ...common,
    id: 'gemini-omni-1.1-flash',
    upstreamModel: 'gemini-omni-1.1-flash',
    created: 1_787_788_800,
    description: "Google's Gemini Omni 1.1 Flash: 3 to 10 seconds with sound, 1080p and 4k by upscaling",
    seconds: { min: 3, max: 10, default: 8 },
  },
]
