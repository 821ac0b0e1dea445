import type { ProblemCode } from '../../../core/problem.ts'
import type { Schema } from '../schemas/schema.ts'

/*
 * What is said of a route beyond what the route itself shows. Method, path and the schemas that requests are checked
 * with are read from the routes as they are; the rest stands in these tables, under 'METHOD /path' as `app.ts` has it.
 */
export interface Operation {
  /** What generators call it: createVideo. */
  readonly id: string
  readonly tag: Tag
  /** A few words, without a full stop. */
  readonly summary: string
  /** Sentences; `code` in backticks, an empty line between paragraphs. */
  readonly description: string
  /** Whose token it takes. */
  readonly access: 'client' | 'operator' | 'anyone'
  /** The parameters of the path in their order, each with what it is: they replace `:id` and `*` there. */
  readonly path?: Readonly<Record<string, string>>
  /** By name; laid over what the route checks. */
  readonly query?: Readonly<Record<string, Schema>>
  /** Request headers that mean something, each with what. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Body
  /** By status, those that are no errors. */
  readonly answers: Readonly<Record<number, Answer>>
  /** Errors of its own. That of a wrong token, and those of any body, are added where they are due. */
  readonly errors?: readonly ProblemCode[]
}

export const tags = {
  Videos: 'Ask for a video, follow it, fetch it.',
  Events: 'Be told instead of asking.',
  Webhooks:
    'Be told at a URL of yours. Each request is a `WebhookEvent`, signed as Standard Webhooks has it: OpenAI’s SDKs ' +
    'check it with `client.webhooks.unwrap()`. Answer with any 2xx; else it is tried again for three days.',
  Models: 'What can be asked for.',
  Operator: 'What an operator sees and decides. It needs the operator token, which makes no videos.',
  Service: 'Health and documentation. No token is needed.',
}
export type Tag = keyof typeof tags

export interface Body {
  /** Of the schema, for generators; a form has another one, with `Form` after it. */
  readonly name: string
  /** By name; laid over what the route checks, which also says what is required. */
  readonly fields: Readonly<Record<string, Schema>>
  /** How it may be sent. */
  readonly as: 'json' | 'form' | 'json or form'
  /** Which of its fields are files in a form. */
  readonly files?: readonly string[]
  /** Set if other fields are taken as well, and what these are. */
  readonly others?: string
  readonly example: Readonly<Record<string, unknown>>
}

export interface Answer {
  readonly description: string
  /** application/json, if there is a schema; or one of several. */
  readonly type?: string | readonly string[]
  /** None where there is no body. */
  readonly schema?: Schema
  /** Of a stream: what the `data` of each event is. */
  readonly events?: Schema
  /** Each with what it says. */
  readonly headers?: Readonly<Record<string, string>>
}

export type Operations = Readonly<Record<string, Operation>>
