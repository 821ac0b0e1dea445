import type { FastifyReply, FastifyRequest } from 'fastify'
import { type CatalogEntry, findModel, fitSeconds, fitSize } from '../core/catalog.ts'
import type { FairTurns } from '../core/fair.ts'
import { readSizeWords } from '../core/parameters.ts'
import { Problem } from '../core/problem.ts'
import type { Parameters } from '../core/task.ts'
import { ownerOf } from '../core/token.ts'
import type { Static } from '../wire/schema.ts'
import { CreateVideo, CreateVideoQuery, Video, VideoGeneration, type VideoQuote } from '../wire/videos.ts'
import { maxBodyBytes } from './body.ts'
import type { boundBodies } from './budget.ts'
import { readExtras } from './extras.ts'
import { checkUrls, readReference } from './reference.ts'
import { type BodyRequest, bodyFaults, defineRoute, type QueryRequest, type Route } from './route.ts'
import type { NamedImage } from './spellings/images.ts'
import { namesElsewhere } from './spellings/table.ts'
import { readSubmit } from './spellings.ts'
import { nameOf, refuseUnstorable, type Submit, type VideoDependencies } from './submit.ts'

export const videoPath = { video_id: 'The `id` in the response to the submit.' }
export const sdkHeader = {
  'X-Stainless-Lang':
    'Sent by OpenAI’s SDKs. With it, fields that do not apply yet are null; without it they are absent.',
}
export const submitHeaders = {
  'Idempotency-Key':
    '1 to 255 printable ASCII characters. A repeat of the request with the same key creates no second video.',
  ...sdkHeader,
}
export const ignored = {
  'x-filmgate-ignored': 'The unknown fields that were ignored, if the operator allows this token to send any.',
}

/** Shared by the upload hooks of several routes. */
export interface UploadHooks {
  turns: FairTurns
  bounds: ReturnType<typeof boundBodies>
}

export function createVideo(dependencies: VideoDependencies & UploadHooks, submit: Submit, quote: Quote): Route {
  return defineRoute({
    at: 'POST /v1/videos',
    id: 'createVideo',
    summary: 'Create a video',
    description:
      'The response is sent when the video is safely stored as `queued`; then poll it. Omitted fields get the defaults ' +
      'of the model. A JSON null or an empty text counts as omitted; an unknown field is an error.\n\n' +
      'OpenAI’s SDKs repeat a submit whose response was lost. Such a repeat creates no second video: it gets the ' +
      'response that was lost.\n\nWith `?dry_run=true` nothing is created: the response is a quote.',
    headers: submitHeaders,
    query: { schema: CreateVideoQuery },
    body: {
      schema: CreateVideo,
      as: 'json or form',
      files: ['image', 'input_reference'],
      // Fields beyond those of the schema are checked against the model too, once it is known.
      readByHand: ['resolution', 'aspect_ratio', 'metadata'],
      example: { model: 'studio', prompt: 'a red fox in snow at dusk', seconds: '4', size: '1280x720' },
    },
    responses: { 200: { description: 'The video, as it was stored.', schema: Video, headers: ignored } },
    errors: [
      ...bodyFaults,
      'invalid_image',
      'invalid_image_url',
      'invalid_multipart',
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
    options: { ...dependencies.bounds, bodyLimit: maxBodyBytes, preValidation: readSubmit(dependencies) },
    handler: submitVideo(dependencies, submit, quote),
  })
}

/** Where clients of xAI, Kong and older services submit and poll. */
export const generations = [
  { path: '/v1/videos/generations', name: 'VideosGeneration' },
  { path: '/v1/video/generations', name: 'VideoGeneration' },
] as const

/** The same routes at those paths; their responses have the id under two more names. */
export function generationRoutes(create: Route, retrieve: Route): Route[] {
  const same = (route: Route, of: string) => ({
    ...route,
    description: `The same as \`${of}\`, for clients that use this path. The response also has the id as \`task_id\` and \`request_id\`.`,
    responses: { 200: { description: '', ...route.responses[200], schema: VideoGeneration } },
    options: { ...route.options, preSerialization: nameTwice },
  })
  return generations.flatMap(({ path, name }): Route[] => [
    {
      ...same(create, 'POST /v1/videos'),
      at: `POST ${path}`,
      id: `create${name}`,
      summary: `${create.summary}, at ${path}`,
    },
    {
      ...same(retrieve, 'GET /v1/videos/{video_id}'),
      at: `GET ${path}/:id`,
      id: `retrieve${name}`,
      summary: `${retrieve.summary}, at ${path}`,
    },
  ])
}

/** Adds the other names of the id. An error has no id. */
async function nameTwice(_request: FastifyRequest, _reply: FastifyReply, payload: unknown): Promise<unknown> {
  const { object, id } = payload as { object?: string; id?: string }
  return object === 'video' ? { ...(payload as object), task_id: id, request_id: id } : payload
}

/** The model decides about all other fields. `image` is what `spellings.ts` found, under any name. */
export type CreateBody = Pick<
  CreateVideo,
  'model' | 'prompt' | 'seconds' | 'size' | 'start_within' | 'finish_within'
> & {
  image?: unknown
}

/** Responds with the price of a request, and creates nothing. */
export type Quote = (request: BodyRequest<CreateBody>, reply: FastifyReply) => Promise<VideoQuote>

/** Completes a request by the rules of its model. Images and URLs in it are not examined. */
export function openResolve(dependencies: Pick<VideoDependencies, 'catalog' | 'unknownParameters'>) {
  const { catalog } = dependencies
  const read = readExtras(dependencies)
  return (request: BodyRequest<CreateBody>, reply: FastifyReply) => {
    const { body, token } = request
    // An operator sees every model.
    const asking = token.kind === 'operator' ? { ...token, models: ['*'] } : token
    const entry = findModel(catalog, asking, nameOf(body, catalog))
    const extras = read(entry.card, request, reply, { reserved: namesElsewhere })
    refuseUnstorable(body.prompt)
    const seconds = fitSeconds(entry.card, body.seconds)
    const size = fitSize(entry.card, { size: body.size, ...readSizeWords(body) })
    return { entry, prompt: body.prompt, seconds, size, ...extras }
  }
}

function submitVideo(dependencies: VideoDependencies, submit: Submit, quote: Quote) {
  const { media } = dependencies
  const resolve = openResolve(dependencies)
  return async (
    request: BodyRequest<CreateBody> & QueryRequest<Static<typeof CreateVideoQuery>>,
    reply: FastifyReply,
  ): Promise<Video | VideoQuote> => {
    if (request.query.dry_run === 'true') return quote(request, reply)
    const { body } = request
    const resolved = resolve(request, reply)
    const { entry, parameters } = resolved
    const owner = ownerOf(request.token)
    const outbound = dependencies.outbound.of(owner)
    const reference = await readReference(body.image as NamedImage | undefined, owner, { media, outbound })
    refuseImageMismatch(reference !== null, entry, parameters)
    await checkUrls(entry.card, parameters, outbound)
    return submit(request, { ...resolved, reference, deadlines: body, source: null })
  }
}

export function refuseImageMismatch(hasImage: boolean, { card }: CatalogEntry, parameters: Parameters): void {
  if (hasImage && card.image === 'none') {
    throw new Problem('invalid_value', `Model '${card.id}' accepts no reference image. Leave out 'image'.`, {
      param: 'image',
    })
  }
  if (!hasImage && card.image === 'required') {
    throw new Problem('missing_required_parameter', `Model '${card.id}' needs a reference image. Send it as 'image'.`, {
      param: 'image',
    })
  }
  const param = Object.keys(parameters).find((name) => card.parameters[name]?.needsImage)
  if (!hasImage && param !== undefined)
    throw new Problem('invalid_value', `'${param}' is accepted only together with 'image'.`, { param })
}
