import {
  acceptsSeconds,
  acceptsSize,
  type CardTemplate,
  modelNameForm,
  parseSize,
  type SecondsRule,
  type SizeRule,
} from '../../core/catalog.ts'
import { commonFields, type ParameterRule } from '../../core/parameters.ts'
import { type Fields, fieldsOf, textOf, unclear } from '../kit/responses.ts'
import type { Cards } from '../provider.ts'

/** The card of a model of which only the name is known. The engine itself refuses unsupported values. */
export const anyModel: CardTemplate = {
  id: 'model',
  provider: 'openai',
  upstreamModel: 'model',
  description: 'A model of this engine',
  created: 0,
  seconds: { min: 1, max: 60, default: 4 },
  size: { minSide: 16, maxSide: 4_096, multipleOf: 2, default: '1280x720' },
  image: 'optional',
  parameters: {
    seed: { type: 'integer', minimum: 0, maximum: 2 ** 31 - 1, description: 'the same seed gives the same video' },
    negative_prompt: { type: 'string', maxLength: 2_000, description: 'what the video must not show' },
    num_inference_steps: { type: 'integer', minimum: 1, maximum: 200, description: 'more steps are slower and finer' },
    guidance_scale: { type: 'number', minimum: 0, maximum: 20, description: 'how closely it follows the prompt' },
    fps: { type: 'integer', minimum: 1, maximum: 60, description: 'frames per second' },
  },
  pollAfterMs: 2_000,
  failuresBilled: false,
}

/** Limits the models of an engine, the parameters of a model and the values of a parameter. No real engine has more. */
const mostEach = 500

/** The cards of a model list. Another Filmgate lists what each model accepts. */
export function toCards({ data }: Fields): Cards {
  if (!Array.isArray(data)) throw unclear('a list of models without data')
  return data
    .slice(0, mostEach)
    .map(fieldsOf)
    .flatMap((model) => {
      const id = textOf(model.id)
      return id === undefined || !modelNameForm.test(id) ? [] : [toCard(id, model)]
    })
}

function toCard(id: string, model: Fields): CardTemplate {
  const parameters = fieldsOf(model.parameters)
  return {
    ...anyModel,
    id,
    upstreamModel: id,
    description: textOf(model.description)?.slice(0, 500) ?? anyModel.description,
    seconds: toSeconds(fieldsOf(model.seconds)) ?? anyModel.seconds,
    size: toSize(fieldsOf(model.size)) ?? anyModel.size,
    image: (['none', 'optional', 'required'] as const).find((rule) => rule === model.image) ?? anyModel.image,
    parameters: model.parameters === undefined ? anyModel.parameters : readParameters(parameters),
  }
}

function isSeconds(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= 3_600
}

/** Undefined if the rule is not valid, or its own default breaks it. */
function toSeconds({ values, min, max, default: usual }: Fields): SecondsRule | undefined {
  const standard = Number(usual)
  const rule: SecondsRule = Array.isArray(values)
    ? { values: values.map(Number), default: standard }
    : { min: Number(min), max: Number(max), default: standard }
  const isWhole = [standard, ...('values' in rule ? rule.values : [rule.min, rule.max])].every(isSeconds)
  return isWhole && acceptsSeconds(rule, standard) ? rule : undefined
}

function toSize({ values, default: usual, ...range }: Fields): SizeRule | undefined {
  const standard = textOf(usual) ?? ''
  const [minSide, maxSide, multipleOf] = [Number(range.min_side), Number(range.max_side), Number(range.multiple_of)]
  const rule: SizeRule = Array.isArray(values)
    ? { values: values.filter((value) => typeof value === 'string' && parseSize(value)), default: standard }
    : { minSide, maxSide, multipleOf, default: standard }
  return parseSize(standard) && acceptsSize(rule, standard) ? rule : undefined
}

/** Only the parts that we understand are copied: every client sees them. */
function readParameters(given: Fields): Record<string, ParameterRule> {
  const rules = Object.entries(given)
    .filter(([name]) => /^\w{1,100}$/.test(name) && !commonFields.includes(name))
    .flatMap(([name, rule]) => {
      const read = toRule(name, fieldsOf(rule))
      return read ? [[name, read] as const] : []
    })
  return Object.fromEntries(rules.slice(0, mostEach))
}

function toRule(
  name: string,
  { type, minimum, maximum, maxLength, enum: words, ...more }: Fields,
): ParameterRule | undefined {
  const description = textOf(more.description)?.slice(0, 500) ?? ''
  const isNumber = (value: unknown): value is number => Number.isFinite(value)
  if (type === 'boolean') return { type, description }
  if ((type === 'integer' || type === 'number') && isNumber(minimum) && isNumber(maximum))
    return { type, minimum, maximum, description }
  if (type !== 'string' || !isNumber(maxLength)) return undefined
  const choice = Array.isArray(words) ? words.filter((word) => typeof word === 'string').slice(0, mostEach) : []
  const isUrl = ['https', 'uri', 'url'].includes(textOf(more.format) ?? '') || /_ur[li]$/.test(name)
  return { type, maxLength, description, ...(choice.length > 0 && { enum: choice }), ...(isUrl && { format: 'https' }) }
}
