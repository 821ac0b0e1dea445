import { type CardFacts, type CardTemplate, type Shapes, sizesOf } from '../../core/catalog.ts'
import { perSecond } from '../../core/prices.ts'
import type { Cards } from '../provider.ts'

const smaller: Shapes = {
  '1280x720': { resolution: '720p', ratio: '16:9' },
  '720x1280': { resolution: '720p', ratio: '9:16' },
  '1920x1080': { resolution: '1080p', ratio: '16:9' },
  '1080x1920': { resolution: '1080p', ratio: '9:16' },
}

export const shapes: Shapes = {
  ...smaller,
  '3840x2160': { resolution: '4k', ratio: '16:9' },
  '2160x3840': { resolution: '4k', ratio: '9:16' },
}

const common = {
  provider: 'vertex',
  seconds: { values: [4, 6, 8], default: 8 },
  size: sizesOf(shapes, '1280x720'),
  image: 'optional',
  parameters: {
    seed: { type: 'integer', minimum: 0, maximum: 2 ** 32 - 1, description: 'the same seed gives a similar video' },
    negative_prompt: { type: 'string', maxLength: 2_000, description: 'what the video must not show' },
    audio: { type: 'boolean', description: 'whether the video has sound; default true' },
  },
  pollAfterMs: 10_000,
  failuresBilled: false,
} as const satisfies Partial<CardTemplate>

/** With sound, by resolution. */
function factsAt(prices: Readonly<Record<string, string>>): CardFacts {
  return {
    audio: 'optional',
    imageIs: 'first frame',
    price: perSecond({ on: '2026-10', source: "Google's price list", audio: true }, prices),
    keptMs: null,
    usuallyMs: 90_000,
  }
}

const retiresOn = '2026-11-17'
const retirement = `Google may retire it from ${retiresOn} on`

export const cards: Cards = [
  {
    ...common,
    id: 'veo-3.1',
    upstreamModel: 'veo-3.1-generate-001',
    created: 1_763_337_600,
    description: `Google's Veo 3.1 on Vertex AI, up to 4k, with sound. ${retirement}`,
    retiresOn,
    facts: factsAt({ '720p': '0.40', '1080p': '0.40', '4k': '0.60' }),
  },
  {
    ...common,
    id: 'veo-3.1-fast',
    upstreamModel: 'veo-3.1-fast-generate-001',
    created: 1_763_337_600,
    description: `Google's Veo 3.1 Fast on Vertex AI, up to 4k, with sound. ${retirement}`,
    retiresOn,
    facts: factsAt({ '720p': '0.10', '1080p': '0.12', '4k': '0.30' }),
  },
  {
    ...common,
    id: 'veo-3.1-lite',
    upstreamModel: 'veo-3.1-lite-generate-001',
    created: 1_775_001_600,
    description: "Google's Veo 3.1 Lite on Vertex AI, a preview, up to 1080p, with sound",
    size: sizesOf(smaller, '1280x720'),
    facts: factsAt({ '720p': '0.05', '1080p': '0.08' }),
  },
]
