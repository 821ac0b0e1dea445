import { type CardTemplate, type Shapes, sizesOf } from '../../core/catalog.ts'
import { perSecond } from '../../core/prices.ts'
import { lastImage } from '../kit/parameters.ts'
import type { Cards } from '../provider.ts'

const ratios = ['16:9', '4:3', '1:1', '3:4', '9:16', '21:9']

/** One row of the vendor's table: the pixels of each ratio, in the order of `ratios`. */
function row(resolution: string, ...sizes: readonly string[]): Shapes {
  return Object.fromEntries(sizes.map((size, at) => [size, { resolution, ratio: ratios[at] ?? '' }]))
}

const rows = {
  '480p': row('480p', '864x496', '752x560', '640x640', '560x752', '496x864', '992x432'),
  /** For Seedance 2.5. */
  '480p slim': row('480p', '854x480', '752x560', '640x640', '560x752', '480x854', '992x432'),
  '720p': row('720p', '1280x720', '1112x834', '960x960', '834x1112', '720x1280', '1470x630'),
  '1080p': row('1080p', '1920x1080', '1664x1248', '1440x1440', '1248x1664', '1080x1920', '2206x946'),
  '4k': row('4k', '3840x2160', '3326x2494', '2880x2880', '2494x3326', '2160x3840', '4398x1886'),
}

/** How each size is requested, the same for all models. */
export const shapes: Shapes = Object.assign({}, ...Object.values(rows))

const few: Shapes = { ...rows['720p'], ...rows['480p'] }

export const arkCards: Cards = [
  card('seedance-2.5', '2026-06-28', '0.231', {
    upstreamModel: 'dreamina-seedance-2-5-260628',
    description:
      'Seedance 2.5 by ByteDance: up to 30 seconds with sound; with an image, the video has its aspect ratio',
    seconds: { min: 4, max: 30, default: 5 },
    size: sizesOf({ ...rows['720p'], ...rows['480p slim'], ...rows['1080p'] }, '1280x720'),
  }),
  card('seedance-2.0', '2026-01-28', '0.15', {
    upstreamModel: 'dreamina-seedance-2-0-260128',
    description: 'Seedance 2.0 by ByteDance: up to 15 seconds with sound, up to 4K',
    size: sizesOf({ ...few, ...rows['1080p'], ...rows['4k'] }, '1280x720'),
  }),
  card('seedance-2.0-fast', '2026-01-28', '0.12', {
    upstreamModel: 'dreamina-seedance-2-0-fast-260128',
    description: 'Seedance 2.0 fast by ByteDance: faster than 2.0, with sound',
  }),
  card('seedance-2.0-mini', '2026-06-15', '0.08', {
    upstreamModel: 'dreamina-seedance-2-0-mini-260615',
    description: 'Seedance 2.0 mini by ByteDance: the cheapest Seedance 2.0, with sound',
  }),
]

/** The price is for 720p. 480p costs about half of it, 1080p two and a half times as much: the exact prices are not known. */
function card(
  id: string,
  since: string,
  usd: string,
  more: Pick<CardTemplate, 'upstreamModel' | 'description'> & Partial<CardTemplate>,
): CardTemplate {
  return {
    id,
    provider: 'ark',
    created: Date.parse(since) / 1_000,
    seconds: { min: 4, max: 15, default: 5 },
    size: sizesOf(few, '1280x720'),
    image: 'optional',
    parameters: {
      audio: { type: 'boolean', description: 'whether the video has sound; default true' },
      last_image: lastImage,
      watermark: { type: 'boolean', description: 'whether the video is marked as AI-generated' },
    },
    pollAfterMs: 5_000,
    failuresBilled: false,
    facts: {
      audio: 'optional',
      imageIs: 'first frame',
      price: perSecond({ on: '2026-11', source: 'vendor price list' }, { '720p': usd }),
      keptMs: 24 * 3_600_000,
      usuallyMs: null,
    },
    ...more,
  }
}
