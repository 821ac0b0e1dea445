import type { FastifyRequest } from 'fastify'
import type { XStatic } from 'typebox/schema'
import { type Catalog, type CatalogEntry, findModel, fitSeconds, fitSize } from '../core/catalog.ts'
import { readParameters, readSizeWords } from '../core/parameters.ts'
import { Problem } from '../core/problem.ts'
import type { Parameters } from '../core/task.ts'
import { type Reference, readReference } from './reference.ts'
import type { Submit, VideoDependencies } from './submit.ts'
import type { WireVideo } from './wire.ts'

/** Fields beyond these are checked against the model, once it is known. */
export const submitBody = {
  type: 'object',
  required: ['prompt'],
  properties: {
    model: { type: 'string' },
    prompt: { type: 'string', minLength: 1, maxLength: 32_000 },
    seconds: { type: ['string', 'integer'] },
    size: { type: 'string' },
    image: {},
    input_reference: {},
    start_within: { type: ['string', 'integer'] },
    finish_within: { type: ['string', 'integer'] },
  },
} as const
type SubmitBody = XStatic<typeof submitBody>

export function submitVideo(dependencies: VideoDependencies, submit: Submit) {
  const { catalog } = dependencies
  return async (request: FastifyRequest): Promise<WireVideo> => {
    const body = request.body as SubmitBody
    const entry = findModel(catalog, request.token, nameOf(body, catalog))
    const parameters = readParameters(entry.card, body, { text: request.isMultipart() })
    refuseUnstorable(body.prompt)
    const seconds = fitSeconds(entry.card, body.seconds)
    const size = fitSize(entry.card, { size: body.size, ...readSizeWords(body) })
    const reference = await readReference(body, dependencies)
    refuseImageMismatch(reference, entry, parameters)
    const { prompt } = body
    return submit(request, { entry, prompt, seconds, size, parameters, reference, deadlines: body, source: null })
  }
}

/** The model that a request names, or the operator's default. */
export function nameOf({ model }: { model?: string }, { defaultModel }: Catalog): string {
  const name = model ?? defaultModel
  if (name !== null) return name
  const message = "Missing required parameter: 'model'. GET /v1/models lists the models you can use."
  throw new Problem('missing_required_parameter', message, { param: 'model' })
}

/** An id that is not there and one of another token get the same answer. */
export function notFound(id: string, param = 'video_id'): Problem {
  return new Problem('video_not_found', `Video '${id.slice(0, 100)}' not found.`, { param })
}

/** OpenAI's SDKs say who they are, and their types promise null where the specification leaves a field out. */
export function wantsNulls(request: FastifyRequest): boolean {
  return request.headers['x-stainless-lang'] !== undefined
}

/** Text that a database can't give back as it came would be bent silently. */
export function refuseUnstorable(prompt: string): void {
  const fault =
    prompt.trim() === '' ? 'it must not be blank' : prompt.includes('\0') ? 'it must not contain NUL' : undefined
  const reason = fault ?? (prompt.isWellFormed() ? undefined : 'it contains half a surrogate pair, which is not text')
  if (reason) throw new Problem('invalid_value', `Invalid 'prompt': ${reason}.`, { param: 'prompt' })
}

function refuseImageMismatch(reference: Reference | null, { card }: CatalogEntry, parameters: Parameters): void {
  if (reference && card.image === 'none') {
    throw new Problem('invalid_value', `Model '${card.id}' takes no reference image.`, { param: 'image' })
  }
  if (!reference && card.image === 'required') {
    throw new Problem('missing_required_parameter', `Model '${card.id}' needs a reference image: send it as 'image'.`, {
      param: 'image',
    })
  }
  const param = Object.keys(parameters).find((name) => card.parameters[name]?.needsImage)
  if (!reference && param !== undefined)
    throw new Problem('invalid_value', `'${param}' is taken only together with 'image'.`, { param })
}
