import type { Model } from '../../src/wire/models.ts'
import { isVideoId } from './search.ts'

/* What the playground sends, and why it can't. */

/** More than this can't be compared side by side. */
export const mostModels = 4

const derivations = ['remix', 'edit', 'extension'] as const
type Derivation = (typeof derivations)[number]

/** What is done with an earlier video. The first two fill the form with its request. */
export const uses = ['again', 'vary', ...derivations] as const
export type Use = (typeof uses)[number]

/** The address of the page: which models, which earlier video and what for, and the videos that are shown. */
interface PlaySearch {
  model?: string[]
  from?: string
  use?: Use
  shown?: string[]
}

export function readPlaySearch(search: Readonly<Record<string, unknown>>): PlaySearch {
  const model = readNames(search.model)
  const shown = readNames(search.shown).filter(isVideoId)
  const use = uses.find((one) => one === search.use)
  const from = typeof search.from === 'string' && isVideoId(search.from) ? search.from : undefined
  return {
    ...(model.length > 0 && { model }),
    ...(from !== undefined && use && { from, use }),
    ...(shown.length > 0 && { shown }),
  }
}

/** One text or several, each once. */
function readNames(value: unknown): string[] {
  const all: unknown[] = Array.isArray(value) ? value : [value]
  const texts = all.filter((one): one is string => typeof one === 'string' && one !== '')
  return [...new Set(texts)].slice(0, mostModels)
}

/** The video that a new one is derived from. */
interface Original {
  id: string
  prompt: string
  how: Derivation
}

export interface Draft {
  prompt: string
  /** Empty: the default of the model. */
  seconds: string
  size: string
  image: File | null
  /** By name, as typed. Empty: it is not sent. */
  parameters: Readonly<Record<string, string>>
  original: Original | null
}

export const emptyDraft: Draft = { prompt: '', seconds: '', size: '', image: null, parameters: {}, original: null }

/** What the models of a request accept is compared by name; a list of these is at most four long. */
type Rules = Pick<Model, 'id' | 'paused' | 'seconds' | 'size' | 'image' | 'parameters' | 'makes'>

/** A value of a field, and the models that do not accept it. */
export interface Option {
  value: string
  refusedBy: string[]
}

const usualSizes = ['1280x720', '720x1280', '1920x1080', '1080x1920', '1024x1024', '640x360'] as const

/** The lengths that at least one of the models accepts, and the chosen one: another model may have accepted that. */
export function lengthOptions(models: readonly Rules[], chosen: string): Option[] {
  const values = models.flatMap(({ seconds: { values, min, max } }) => values ?? wholeSeconds(Number(min), Number(max)))
  const ordered = [...new Set(chosen === '' ? values : [...values, chosen])].toSorted((a, b) => Number(a) - Number(b))
  return ordered.map((value) => ({ value, refusedBy: refusers(models, (model) => acceptsLength(model, value)) }))
}

function wholeSeconds(least: number, most: number): string[] {
  return Array.from({ length: Math.max(0, most - least + 1) }, (_, at) => String(least + at))
}

/** The same for sizes; of a range, usual ones. */
export function sizeOptions(models: readonly Rules[], chosen: string): Option[] {
  const values = models.flatMap((model) => {
    const { values, default: usual } = model.size
    return values ?? [usual, ...usualSizes.filter((size) => acceptsSize(model, size))]
  })
  return [...new Set(chosen === '' ? values : [...values, chosen])].map((value) => ({
    value,
    refusedBy: refusers(models, (model) => acceptsSize(model, value)),
  }))
}

function refusers(models: readonly Rules[], accepts: (model: Rules) => boolean): string[] {
  return models.filter((model) => !accepts(model)).map(({ id }) => id)
}

function acceptsLength({ seconds: { values, min, max } }: Rules, value: string): boolean {
  return values ? values.includes(value) : Number(min) <= Number(value) && Number(value) <= Number(max)
}

function acceptsSize({ size }: Rules, value: string): boolean {
  if (size.values) return size.values.includes(value)
  const { min_side: least = 1, max_side: most = Number.POSITIVE_INFINITY, multiple_of: step = 1 } = size
  return value.split('x').every((side) => Number(side) >= least && Number(side) <= most && Number(side) % step === 0)
}

/** Why a draft can't be sent: the key of a text, and its values. */
export interface Obstacle {
  why: 'paused' | 'prompt' | 'imageRequired' | 'imageRefused' | 'length' | 'size' | 'lengthMissing'
  models: string[]
}

export function obstacleOf(draft: Draft, models: readonly Rules[]): Obstacle | null {
  const { prompt, seconds, size, image, original } = draft
  const found = (why: Obstacle['why'], refusing: string[]) => (refusing.length > 0 ? { why, models: refusing } : null)
  const paused = found(
    'paused',
    refusers(models, (one) => !one.paused),
  )
  if (paused) return paused
  if (prompt.trim() === '') return { why: 'prompt', models: [] }
  const wrongLength = found('length', seconds === '' ? [] : refusers(models, (one) => acceptsLength(one, seconds)))
  if (original?.how === 'extension' && seconds === '') return { why: 'lengthMissing', models: [] }
  // A remix or an edit repeats the length, the size and the image of its original.
  if (original) return original.how === 'extension' ? wrongLength : null
  return (
    found('imageRequired', image ? [] : refusers(models, (one) => one.image !== 'required')) ??
    found('imageRefused', image ? refusers(models, (one) => one.image !== 'none') : []) ??
    wrongLength ??
    found('size', size === '' ? [] : refusers(models, (one) => acceptsSize(one, size)))
  )
}

type Value = string | number | boolean

/** A request without its image, which is read only when it is sent. */
export interface PlayRequest {
  path: string
  body: Readonly<Record<string, Value | { id: string }>>
}

export function requestOf(model: Rules, draft: Draft): PlayRequest {
  const { prompt, seconds, size, original } = draft
  const parameters = parametersOf(model, draft)
  if (original) return derivationOf(original, { prompt, seconds, parameters })
  const chosen = { ...(seconds !== '' && { seconds }), ...(size !== '' && { size }) }
  return { path: '/v1/videos', body: { model: model.id, prompt, ...chosen, ...parameters } }
}

interface Derived {
  prompt: string
  seconds: string
  parameters: Readonly<Record<string, Value>>
}

/** The request that derives a video from another one. */
export function derivationOf({ id, how }: Pick<Original, 'id' | 'how'>, derived: Derived): PlayRequest {
  const { prompt, seconds, parameters } = derived
  if (how === 'remix') return { path: `/v1/videos/${encodeURIComponent(id)}/remix`, body: { prompt, ...parameters } }
  const body = { prompt, video: { id }, ...parameters }
  return how === 'edit'
    ? { path: '/v1/videos/edits', body }
    : { path: '/v1/videos/extensions', body: { ...body, seconds } }
}

/** Those that the model has: in a comparison, another one may have more. */
function parametersOf({ parameters: rules }: Rules, { parameters, image }: Draft): Record<string, Value> {
  const set = Object.entries(parameters).flatMap(([name, text]): [string, Value][] => {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined
    if (!rule || text === '' || (rule.needs_image && !image)) return []
    if (rule.type === 'boolean') return [[name, text === 'true']]
    return [[name, rule.type === 'string' ? text : Number(text)]]
  })
  return Object.fromEntries(set)
}

/**
 * What is quoted: the price depends neither on the prompt nor on which image it is, and a quote fetches no image. So it
 * is not requested again for each character that is typed.
 */
export function quotedOf(model: Rules, draft: Draft): Record<string, unknown> {
  const { body } = requestOf(model, { ...draft, prompt: 'quote', original: null })
  return { ...body, ...(draft.image && { image: 'https://image.invalid/' }) }
}

/** An earlier request in the form. What the models do not accept, such as a length that was rounded, is the default. */
export function draftFrom(
  video: Readonly<{ id: string; prompt: string; seconds: string; size: string }>,
  use: Use,
  model: Rules | undefined,
  seed: number,
): Draft {
  const { id, prompt } = video
  if (use !== 'again' && use !== 'vary') return { ...emptyDraft, original: { id, prompt, how: use } }
  const seconds = model && acceptsLength(model, video.seconds) ? video.seconds : ''
  const size = model && acceptsSize(model, video.size) ? video.size : ''
  const parameters = use === 'vary' ? { seed: String(seed) } : {}
  return { ...emptyDraft, prompt, seconds, size, parameters }
}

/** Why an earlier video can’t be used that way: its model can’t, or it has to be completed first. Null if it can. */
export function whyNot(use: Use, model: Rules | undefined, isPlayable: boolean): 'model' | 'seed' | 'video' | null {
  if (use === 'again') return null
  if (use === 'vary') return model && Object.hasOwn(model.parameters, 'seed') ? null : 'seed'
  if (!model?.makes.includes(use)) return 'model'
  return isPlayable ? null : 'video'
}
