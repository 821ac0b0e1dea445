import type { FastifyReply, FastifyRequest } from 'fastify'
import type { XStatic } from 'typebox/schema'
import { type CatalogEntry, findModel, fitSeconds, fitSize } from '../core/catalog.ts'
import { readSizeWords } from '../core/parameters.ts'
import { Problem } from '../core/problem.ts'
import type { Parameters } from '../core/task.ts'
import { readExtras } from './extras.ts'
import { checkUrls, type Reference, readReference } from './reference.ts'
import type { NamedImage } from './spellings/images.ts'
import { namesElsewhere } from './spellings/table.ts'
import { nameOf, refuseUnstorable, type Submit, type VideoDependencies } from './submit.ts'
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
    start_within: { type: ['string', 'integer'] },
    finish_within: { type: ['string', 'integer'] },
  },
} as const

type SubmitBody = XStatic<typeof submitBody>

export function submitVideo(dependencies: VideoDependencies, submit: Submit) {
  const { catalog, media } = dependencies
  const read = readExtras(dependencies)
  return async (request: FastifyRequest, reply: FastifyReply): Promise<WireVideo> => {
    const body = request.body as SubmitBody
    const entry = findModel(catalog, request.token, nameOf(body, catalog))
    const extras = read(entry.card, request, reply, { reserved: namesElsewhere })
    const { parameters } = extras
    refuseUnstorable(body.prompt)
    const seconds = fitSeconds(entry.card, body.seconds)
    const size = fitSize(entry.card, { size: body.size, ...readSizeWords(body) })
    const { name } = request.token
    const outbound = dependencies.outbound.of(name)
    const reference = await readReference(body.image as NamedImage | undefined, name, { media, outbound })
    refuseImageMismatch(reference, entry, parameters)
    await checkUrls(entry.card, parameters, outbound)
    const { prompt } = body
    const asked = { prompt, seconds, size, ...extras }
    return submit(request, { entry, ...asked, reference, deadlines: body, source: null })
  }
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
