import { type CardFacts, type CardTemplate, type SecondsRule, type Shapes, sizesOf } from '../../core/catalog.ts'
import type { ParameterRule } from '../../core/parameters.ts'
import { perSecond } from '../../core/prices.ts'
import { lastImage } from '../kit/parameters.ts'
import type { Cards } from '../provider.ts'

/*
 * Every endpoint of fal has its own field names, so they are data. A model is a text endpoint, which is also its name, and an
 * endpoint that accepts an image.
 */

/** Our names, and fal's usual names for them. */
const usual = {
  prompt: 'prompt',
  seconds: 'duration',
  ratio: 'aspect_ratio',
  resolution: 'resolution',
  image: 'image_url',
  audio: 'generate_audio',
  last_image: 'end_image_url',
  seed: 'seed',
  negative_prompt: 'negative_prompt',
  cfg_scale: 'cfg_scale',
  camera_fixed: 'camera_fixed',
  fps: 'fps',
  prompt_optimizer: 'prompt_optimizer',
  enable_prompt_expansion: 'enable_prompt_expansion',
}
type Name = keyof typeof usual

export interface Endpoint {
  readonly path: string
  /** The accepted fields: our names and the endpoint's. */
  readonly fields: Readonly<Record<string, string>>
}

export interface FalModel {
  readonly text: Endpoint
  readonly image: Endpoint
  /** The endpoint for a video between two images, if it is another one. */
  readonly between?: Endpoint
  /** How 5 seconds are written: "5", "5s" or 5. */
  readonly duration: 'text' | 'text with s' | 'number'
  readonly shapes: Shapes
}

interface Described extends FalModel {
  readonly id: string
  readonly description: string
  readonly since: string
  readonly seconds: SecondsRule
  /** The default size; 1280x720 if it is left out. */
  readonly size?: string
  /** Only if the client can't choose. */
  readonly audio?: 'always' | 'never'
  /** Of a second in the default size, with sound if the client can choose. */
  readonly price?: ListedPrice
}

interface ListedPrice {
  readonly usd: string
  readonly on: string
  readonly source: string
}

const rules: Partial<Record<Name, ParameterRule>> = {
  audio: { type: 'boolean', description: 'whether the video has sound, which may cost more' },
  last_image: lastImage,
  seed: { type: 'integer', minimum: 0, maximum: 2 ** 31 - 1, description: 'the same seed gives a similar video' },
  negative_prompt: { type: 'string', maxLength: 500, description: 'what the video must not show' },
  cfg_scale: { type: 'number', minimum: 0, maximum: 1, description: 'how closely it follows the prompt' },
  camera_fixed: { type: 'boolean', description: 'whether the camera stands still' },
  fps: { type: 'string', maxLength: 2, enum: ['24', '25', '48', '50'], description: 'frames per second' },
  prompt_optimizer: { type: 'boolean', description: 'whether the prompt may be rewritten' },
  enable_prompt_expansion: { type: 'boolean', description: 'whether the prompt may be rewritten' },
}

function endpoint(path: string, accepts: readonly Name[], renamed: Partial<Record<Name, string>> = {}): Endpoint {
  const names = { ...usual, ...renamed }
  return { path, fields: Object.fromEntries((['prompt', ...accepts] as const).map((name) => [name, names[name]])) }
}

/** Sizes whose shorter side has that many pixels. */
function shapesOf(resolution: string, side: number, ratios: readonly string[]): Shapes {
  return Object.fromEntries(
    ratios.map((ratio) => {
      const [across = 1, down = 1] = ratio.split(':').map(Number)
      const longer = 2 * Math.round((side * Math.max(across, down)) / Math.min(across, down) / 2)
      return [across > down ? `${longer}x${side}` : `${side}x${longer}`, { resolution, ratio }]
    }),
  )
}

/** Sizes with about the same number of pixels in each ratio. */
function sized(resolution: string, sizes: Readonly<Record<string, string>>): Shapes {
  return Object.fromEntries(Object.entries(sizes).map(([ratio, size]) => [size, { resolution, ratio }]))
}

const wide = ['16:9', '9:16']
const wan = {
  ...sized('720p', { '16:9': '1280x720', '9:16': '720x1280', '1:1': '960x960', '4:3': '1088x832', '3:4': '832x1088' }),
  ...sized('1080p', {
    '16:9': '1920x1080',
    '9:16': '1080x1920',
    '1:1': '1440x1440',
    '4:3': '1632x1248',
    '3:4': '1248x1632',
  }),
}
const seedance = {
  ...sized('480p', { '16:9': '864x496', '9:16': '496x864', '1:1': '640x640', '4:3': '752x560', '3:4': '560x752' }),
  ...sized('480p', { '21:9': '992x432' }),
  ...sized('720p', { '16:9': '1280x720', '9:16': '720x1280', '1:1': '960x960', '4:3': '1112x834', '3:4': '834x1112' }),
  ...sized('720p', { '21:9': '1470x630' }),
}
const seedanceHigh = sized('1080p', {
  '16:9': '1920x1080',
  '9:16': '1080x1920',
  '1:1': '1440x1440',
  '4:3': '1664x1248',
  '3:4': '1248x1664',
  '21:9': '2206x946',
})
const grok = ['16:9', '4:3', '3:2', '1:1', '2:3', '3:4', '9:16']
const pika = ['16:9', '9:16', '1:1', '4:5', '5:4', '3:2', '2:3']
const veo = { ...shapesOf('720p', 720, wide), ...shapesOf('1080p', 1_080, wide), ...shapesOf('4k', 2_160, wide) }

function listed(usd: string, on = '2026-11', source = 'fal.ai model page, undated copy'): ListedPrice {
  return { usd, on, source }
}

function veoModel(path: string): FalModel {
  const accepts = ['seconds', 'ratio', 'resolution', 'audio', 'seed', 'negative_prompt'] as const
  const frames = { image: 'first_frame_url', last_image: 'last_frame_url' }
  return {
    text: endpoint(path, accepts),
    image: endpoint(`${path}/image-to-video`, [...accepts, 'image']),
    between: endpoint(`${path}/first-last-frame-to-video`, [...accepts, 'image', 'last_image'], frames),
    duration: 'text with s',
    shapes: veo,
  }
}

function klingModel(path: string, shapes: Shapes): FalModel {
  const accepts = ['seconds', 'audio', 'negative_prompt', 'cfg_scale'] as const
  return {
    text: endpoint(`${path}/text-to-video`, [...accepts, 'ratio']),
    image: endpoint(`${path}/image-to-video`, [...accepts, 'image', 'last_image'], { image: 'start_image_url' }),
    duration: 'text',
    shapes,
  }
}

/** A text endpoint and an image endpoint, with the fields of both and the fields of each. */
function pair(path: string, both: readonly Name[], withText: readonly Name[], withImage: readonly Name[]) {
  return {
    text: endpoint(`${path}/text-to-video`, [...both, ...withText]),
    image: endpoint(`${path}/image-to-video`, [...both, 'image', ...withImage]),
    duration: 'text' as const,
  }
}

const seedanceFields = ['seconds', 'ratio', 'resolution', 'audio', 'seed'] as const

const described: readonly Described[] = [
  {
    id: 'fal/veo-3.1',
    description: "Google's Veo 3.1, by fal",
    since: '2025-10-15',
    ...veoModel('fal-ai/veo3.1'),
    seconds: { values: [4, 6, 8], default: 8 },
    price: listed('0.4'),
  },
  {
    id: 'fal/veo-3.1-fast',
    description: "Google's Veo 3.1 Fast, by fal",
    since: '2025-10-15',
    ...veoModel('fal-ai/veo3.1/fast'),
    seconds: { values: [4, 6, 8], default: 8 },
  },
  {
    id: 'fal/kling-3.0',
    description: "Kuaishou's Kling 3.0, standard, by fal",
    since: '2026-02-05',
    ...klingModel(
      'fal-ai/kling-video/v3/standard',
      sized('720p', { '16:9': '1280x720', '9:16': '720x1280', '1:1': '960x960' }),
    ),
    seconds: { min: 3, max: 15, default: 5 },
    price: listed('0.126'),
  },
  {
    id: 'fal/kling-3.0-pro',
    description: "Kuaishou's Kling 3.0 Pro, by fal",
    since: '2026-02-05',
    ...klingModel(
      'fal-ai/kling-video/v3/pro',
      sized('1080p', { '16:9': '1920x1080', '9:16': '1080x1920', '1:1': '1440x1440' }),
    ),
    seconds: { min: 3, max: 15, default: 5 },
    size: '1920x1080',
    price: listed('0.168', '2026-06', 'fal.ai guide'),
  },
  {
    id: 'fal/wan-2.7',
    description: "Alibaba's Wan 2.7, by fal",
    since: '2026-04-01',
    audio: 'always',
    ...pair(
      'fal-ai/wan/v2.7',
      ['seconds', 'resolution', 'seed', 'negative_prompt', 'enable_prompt_expansion'],
      ['ratio'],
      ['last_image'],
    ),
    shapes: wan,
    seconds: { min: 2, max: 15, default: 5 },
    price: listed('0.1'),
  },
  {
    id: 'fal/seedance-1.5-pro',
    description: "ByteDance's Seedance 1.5 Pro, by fal",
    since: '2025-12-16',
    ...pair('fal-ai/bytedance/seedance/v1.5/pro', [...seedanceFields, 'camera_fixed'], [], ['last_image']),
    shapes: { ...seedance, ...seedanceHigh },
    seconds: { min: 4, max: 12, default: 5 },
    price: listed('0.052'),
  },
  {
    id: 'fal/seedance-2.0',
    description: "ByteDance's Seedance 2.0, by fal",
    since: '2026-04-09',
    ...pair('bytedance/seedance-2.0', seedanceFields, [], ['last_image']),
    shapes: { ...seedance, ...seedanceHigh },
    seconds: { min: 4, max: 15, default: 5 },
    price: listed('0.3034', '2026-11', 'fal.ai'),
  },
  {
    id: 'fal/seedance-2.0-fast',
    description: "ByteDance's Seedance 2.0 Fast, by fal",
    since: '2026-04-09',
    ...pair('bytedance/seedance-2.0/fast', seedanceFields, [], ['last_image']),
    shapes: seedance,
    seconds: { min: 4, max: 15, default: 5 },
    price: listed('0.2419', '2026-11', 'fal.ai'),
  },
  {
    id: 'fal/grok-imagine-video',
    description: "xAI's Grok Imagine Video, by fal",
    since: '2026-01-28',
    ...pair('xai/grok-imagine-video', ['seconds', 'ratio', 'resolution'], [], []),
    duration: 'number',
    shapes: { ...shapesOf('480p', 480, grok), ...shapesOf('720p', 720, grok) },
    seconds: { min: 1, max: 15, default: 6 },
    audio: 'always',
  },
  {
    id: 'fal/hailuo-2.3',
    description: "MiniMax's Hailuo 2.3, standard, by fal",
    since: '2025-10-28',
    ...pair('fal-ai/minimax/hailuo-2.3/standard', ['seconds', 'prompt_optimizer'], [], []),
    shapes: sized('768p', { '16:9': '1366x768' }),
    seconds: { values: [6, 10], default: 6 },
    size: '1366x768',
    audio: 'never',
  },
  {
    id: 'fal/ltx-2.3',
    description: "Lightricks' LTX-2.3, by fal",
    since: '2026-03-05',
    ...pair('fal-ai/ltx-2.3', ['seconds', 'ratio', 'resolution', 'audio', 'fps'], [], ['last_image']),
    shapes: {
      ...shapesOf('1080p', 1_080, wide),
      ...shapesOf('1440p', 1_440, wide),
      ...shapesOf('2160p', 2_160, wide),
    },
    seconds: { values: [6, 8, 10], default: 6 },
    size: '1920x1080',
  },
  {
    id: 'fal/pika-2.2',
    description: "Pika's Pika 2.2, by fal",
    since: '2025-02-27',
    audio: 'never',
    ...pair('fal-ai/pika/v2.2', ['seconds', 'resolution', 'seed', 'negative_prompt'], ['ratio'], []),
    shapes: { ...shapesOf('720p', 720, pika), ...shapesOf('1080p', 1_080, pika) },
    seconds: { values: [5, 10], default: 5 },
  },
]

/** By the path of the text endpoint. */
const models: ReadonlyMap<string, FalModel> = new Map(described.map((model) => [model.text.path, model]))

/** An endpoint without a card, which an operator configured, gets fal's usual field names. */
export function falModel(path: string): FalModel {
  const any = { path, fields: usual }
  return models.get(path) ?? { text: any, image: any, duration: 'text', shapes: veo }
}

export const falCards: Cards = described.map(toCard)

function toCard({
  id,
  description,
  since,
  seconds,
  size = '1280x720',
  audio,
  price,
  ...model
}: Described): CardTemplate {
  const { text, image, between, shapes } = model
  const accepted = [text, image, between].flatMap((one) => Object.keys(one?.fields ?? {}))
  const parameters = Object.entries(rules).filter(([name]) => accepted.includes(name))
  return {
    id,
    provider: 'fal',
    upstreamModel: text.path,
    description,
    created: Date.parse(since) / 1_000,
    seconds,
    size: sizesOf(shapes, size),
    image: 'optional',
    parameters: Object.fromEntries(parameters),
    pollAfterMs: 5_000,
    failuresBilled: false,
    // How long results are kept is a setting of the account at fal.
    facts: {
      audio: audio ?? 'optional',
      imageIs: 'first frame',
      price: price ? priceOf(price, shapes[size]?.resolution ?? '', audio === undefined) : null,
      keptMs: null,
      usuallyMs: null,
    },
  }
}

function priceOf({ usd, ...listed }: ListedPrice, resolution: string, hasSilent: boolean): CardFacts['price'] {
  return perSecond(hasSilent ? { ...listed, audio: true } : listed, { [resolution]: usd })
}
