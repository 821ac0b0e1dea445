import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { type CatalogEntry, findModel, fitSeconds } from '../core/catalog.ts'
import { commonFields } from '../core/parameters.ts'
import { Problem } from '../core/problem.ts'
import {
  combinedPrompts,
  expired,
  fitSource,
  longestSeconds,
  requireSourceSupport,
  requireSourceVideo,
  type SourceVideo,
  type UploadLimits,
  uploadLimits,
} from '../core/source.ts'
import { type Asset, isTaskId, type Parameters, type SourceKind, type Task, wholeSeconds } from '../core/task.ts'
import { ownerOf } from '../core/token.ts'
import type { DecodedVideo } from '../media/media.ts'
import { EditVideo, ExtendVideo, RemixVideo, Video } from '../wire/videos.ts'
import { maxBodyBytes, Spooled } from './body.ts'
import { notFound } from './errors.ts'
import { readExtras } from './extras.ts'
import { checkUrls, inputCheckMs } from './reference.ts'
import { type BodyRequest, bodyFaults, defineRoute, pathParam, type Route } from './route.ts'
import { namesElsewhere, otherNames } from './spellings/table.ts'
import { dropWithoutEffect, readDerived } from './spellings.ts'
import { spoolVideos } from './spool.ts'
import { nameOf, type OrderSource, refuseUnstorable, type Submit, type VideoDependencies } from './submit.ts'
import { ignored, submitHeaders, type UploadHooks, videoPath } from './videos.ts'

/** `video`: `{id}` of a stored video, or a file in a form. `metadata` is checked once the model is known. */
type Body = Pick<ExtendVideo, 'prompt'> &
  Partial<Omit<ExtendVideo, 'video' | 'metadata'>> & { video?: unknown; metadata?: unknown }

/** The source of the examples. */
const example = { id: 'video_01a1d2f3a0917fc4d35e880b6c21f7a94be6035d18c2fa70' }
const summer = { prompt: 'the same, but in summer' }
const further = { prompt: 'the fox runs away', seconds: '4' }

const stored = { description: 'The new video, as it was stored.', schema: Video, headers: ignored }
const summerVideo = { ...summer, remixed_from_video_id: example.id }

const common = {
  headers: submitHeaders,
  responses: { 200: { ...stored, example: summerVideo } },
  errors: [
    ...bodyFaults,
    'invalid_multipart',
    'invalid_request',
    'video_not_usable',
    'video_not_found',
    'model_not_found',
    'idempotency_key_reused',
    'price_unknown',
    'insufficient_quota',
    'queue_full',
    'storage_quota_exceeded',
    'rate_limit_exceeded',
    'overloaded',
    'storage_unavailable',
  ],
} as const satisfies Partial<Route>

/** Creates videos from other videos. `makes` in `GET /v1/models` says which models can do that. */
export function derivedRoutes(
  dependencies: VideoDependencies & UploadHooks & { scratch: string },
  submit: Submit,
): Route[] {
  const files = spoolVideos(dependencies)
  return [
    defineRoute({
      ...common,
      at: 'POST /v1/videos/:id/remix',
      id: 'remixVideo',
      summary: 'Remix a video',
      path: videoPath,
      description: 'A new video of the same model, length and size, from a completed video and another prompt.',
      body: { schema: RemixVideo, as: 'json or form', readByHand, example: summer },
      options: { ...dependencies.bounds, bodyLimit: maxBodyBytes, preValidation: readDerived(dependencies) },
      handler: deriveVideo('remix', dependencies, submit),
    }),
    defineRoute({
      ...common,
      at: 'POST /v1/videos/edits',
      id: 'editVideo',
      summary: 'Edit a video',
      description: 'Like a remix, but of a stored or an uploaded video.',
      body: {
        schema: EditVideo,
        as: 'json or form',
        files: ['video'],
        readByHand,
        example: { ...summer, video: example },
      },
      errors: [...common.errors, 'invalid_video'],
      options: files,
      handler: deriveVideo('edit', dependencies, submit),
    }),
    defineRoute({
      ...common,
      at: 'POST /v1/videos/extensions',
      id: 'extendVideo',
      summary: 'Extend a video',
      description: `A new video that begins with the given one and continues for \`seconds\` more, up to ${longestSeconds} seconds in total.`,
      body: {
        schema: ExtendVideo,
        as: 'json or form',
        files: ['video'],
        readByHand,
        example: { ...further, video: example },
      },
      // The source has 4 seconds.
      responses: { 200: { ...stored, example: { ...further, seconds: '8' } } },
      errors: [...common.errors, 'invalid_video'],
      options: files,
      handler: deriveVideo('extension', dependencies, submit),
    }),
  ]
}

/** Checked like other parameters, once the model is known. */
const readByHand = ['metadata'] as const

const schemas = { remix: RemixVideo, edit: EditVideo, extension: ExtendVideo } as const

/** Fields of `POST /v1/videos` that have no effect here, under all their names. */
function namesFromSource(kind: SourceKind): string[] {
  const { properties } = schemas[kind]
  const hasEffect = (name: string) => Object.hasOwn(properties, otherNames[name]?.means ?? name)
  return [...commonFields, ...namesElsewhere].filter((name) => !hasEffect(name))
}

/** The source of the new video, and the model that generates it. */
interface FoundSource {
  entry: CatalogEntry
  material: SourceVideo
  /** Parameters of the source, which the request may override. */
  parameters: Parameters
  source: OrderSource
}

/** Creates a video from one of the token's videos, or from a file in the request. */
function deriveVideo(kind: SourceKind, tools: VideoDependencies, submit: Submit) {
  const read = readExtras(tools)
  const beside = Object.keys(schemas[kind].properties)
  const fromSource = namesFromSource(kind)
  const reserved = namesElsewhere.filter((name) => !fromSource.includes(name))
  return async (request: BodyRequest<Body>, reply: FastifyReply): Promise<Video> => {
    const { body } = request
    refuseUnstorable(body.prompt)
    const { entry, material, parameters: inherited, source } = await find(kind, request, tools)
    const { card } = entry
    dropWithoutEffect(body, card)
    const extras = read(card, request, reply, { beside, reserved, fromSource })
    const seconds = fitSource(card, material, kind === 'extension' ? fitSeconds(card, body.seconds) : null)
    const parameters = { ...inherited, ...extras.parameters }
    await checkUrls(card, parameters, tools.outbound.of(ownerOf(request.token)))
    const fields = { ...extras, prompt: body.prompt, seconds, size: material.size, parameters }
    return submit(request, { entry, ...fields, deadlines: body, reference: null, source })
  }
}

async function find(kind: SourceKind, request: BodyRequest<Body>, tools: VideoDependencies): Promise<FoundSource> {
  if (kind === 'remix') return findOwn({ kind, id: pathParam(request, 'id'), param: 'video_id' }, request, tools)
  const { video } = request.body
  if (video instanceof Spooled) return takeUpload(kind, video, request, tools)
  return findOwn({ kind, id: readId(video), param: 'video' }, request, tools)
}

function readId(video: unknown): string {
  const { id, ...others } = typeof video === 'object' && video !== null ? (video as { id?: unknown }) : {}
  if (typeof id === 'string' && Object.keys(others).length === 0) return id
  const message = `Invalid type for 'video': expected {"id": "video_…"}, or in a form an MP4 file.`
  throw new Problem('invalid_type', message, { param: 'video' })
}

interface SourceId {
  kind: SourceKind
  id: string
  /** The field of the request that names the video. */
  param: string
}

async function findOwn(
  { kind, id, param }: SourceId,
  request: BodyRequest<Body>,
  dependencies: VideoDependencies,
): Promise<FoundSource> {
  const { catalog, store, bucket, clock } = dependencies
  const task = isTaskId(id) ? await store.find(id) : undefined
  if (!task || task.owner !== ownerOf(request.token) || task.deletedAt !== null) throw notFound(id, param)
  const film = requireSourceVideo(task, param, clock.now())
  const entry = findModel(catalog, request.token, task.model)
  refuseOtherModel(request.body, entry)
  requireSourceSupport(entry, kind, catalog, request.token)
  const opener = (asset: Asset) => async (): Promise<Readable> => {
    const object = await bucket.open(asset.key)
    // It was removed just now, so it counts as expired.
    if (!object) throw expired(id, param)
    return object.stream
  }
  const { size, videoFacts } = task
  // A remix or an edit repeats the request. An extension continues the video as it is.
  const seconds = kind === 'extension' && videoFacts ? wholeSeconds(videoFacts.duration) : task.seconds
  const used = kind === 'extension' ? { video: film, image: null } : inputsOf(task)
  const image = used.image && { ...used.image, open: opener(used.image.asset) }
  const known = Object.entries(task.parameters).filter(([name]) => Object.hasOwn(entry.card.parameters, name))
  const identity = { kind, video: id, prompt: combinedPrompts(task), seconds, name: id }
  const source: OrderSource = { ...identity, image, open: used.video && opener(used.video) }
  return { entry, material: { seconds, size, param }, parameters: Object.fromEntries(known), source }
}

/**
 * The inputs of a video besides its prompt, which a new version needs again. Of an extension only the prompts count.
 */
function inputsOf({ image, source }: Task) {
  return {
    image: image && 'asset' in image ? image : null,
    video: source && source.kind !== 'extension' ? source.asset : null,
  }
}

/** Only the model that generated a video can change it. */
function refuseOtherModel({ model }: Body, { name, card }: CatalogEntry): void {
  if (model === undefined || model === name || model === card.id) return
  const message = `'model' is '${model.slice(0, 50)}'. Only '${name}', which generated the video, can be used. Leave out 'model'.`
  throw new Problem('invalid_value', message, { param: 'model' })
}

async function takeUpload(kind: SourceKind, file: Spooled, request: BodyRequest<Body>, tools: VideoDependencies) {
  const { catalog } = tools
  const entry = findModel(catalog, request.token, nameOf(request.body, catalog))
  requireSourceSupport(entry, kind, catalog, request.token)
  const limits = uploadLimits(entry.card, kind)
  const { size, seconds: exact } = await examine({ path: file.path, owner: ownerOf(request.token), limits }, tools)
  const seconds = wholeSeconds(exact)
  // The file is opened first: a stream that fails to open its file before it has a listener would end the process.
  const stream = async () => (await open(file.path)).createReadStream()
  const source = { kind, video: null, prompt: null, seconds, name: file.sha256, image: null, open: stream }
  return { entry, material: { seconds, size, param: 'video' }, parameters: {}, source }
}

interface Uploaded {
  path: string
  owner: string
  limits: UploadLimits
}

async function examine({ path, owner, limits }: Uploaded, { media }: VideoDependencies): Promise<DecodedVideo> {
  const signal = AbortSignal.timeout(inputCheckMs)
  try {
    const facts = await media.check(path, limits, owner, signal)
    if (facts.turned)
      throw invalid('The video has metadata that rotates or mirrors it. Save it upright, without that metadata.')
    return facts
  } catch (thrown) {
    const { code, message } = Problem.from(thrown)
    if (code === 'invalid_value') throw new Problem(code, message, { param: 'video', cause: thrown })
    if (code === 'unsupported_output') throw invalid(`${message} Send an MP4 file with H.264.`, thrown)
    if (!signal.aborted) throw thrown
    const busy = 'Too many videos are waiting to be checked. Try again shortly.'
    throw new Problem('overloaded', busy, { retryable: true, cause: thrown })
  }
}

function invalid(message: string, cause?: unknown): Problem {
  return new Problem('invalid_video', message, { param: 'video', cause })
}
