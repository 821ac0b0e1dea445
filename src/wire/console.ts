import { tokenKinds } from '../core/token.ts'
import { always, flag, orNull, request, type Static, shape, text, time } from './schema.ts'

/* The session of the console. Only its own pages use it, so it is not in the OpenAPI document. */

export const ConsoleSession = shape('Who is signed in, with the tokens whose routes are at this address.', {
  kind: { type: 'string', enum: tokenKinds, description: 'The kind of the token that signed in.' },
  name: text('The name of the token.'),
  role: orNull(text('`admin` or `viewer`, for an operator; null for a client.')),
  project: orNull(text('The project of the token; null if it has none.')),
  client: orNull(
    shape('The client token whose videos, models and usage `/v1` returns in this session; null without one.', {
      name: text('The name of the token.'),
      project: orNull(text('Its project; null if it has none.')),
      owner: text('The owner of its videos, as operators see it.'),
    }),
  ),
  expires_at: time('When the session ends.'),
})
export type ConsoleSession = Static<typeof ConsoleSession>

export const ConsoleState = shape('What the console has to know before its first page.', {
  object: always('console'),
  version: text('The version of the service.'),
  docs: flag('Whether the API reference is at `/docs` of this address.'),
  serves_clients: flag('Whether `/v1` is at this address. False at the port of `FILMGATE_OPERATOR_PORT`.'),
  client_url: orNull(text('The address of `/v1`, if it is another one and the service knows it; otherwise null.')),
  session: orNull(ConsoleSession),
  ended: flag(
    'Whether the request has a session that is no longer valid: it expired, or its token was changed or revoked.',
  ),
})
export type ConsoleState = Static<typeof ConsoleState>

export const SignIn = request({
  token: { type: 'string', minLength: 1, maxLength: 1_000, description: 'The secret of a token.' },
  code: { type: 'string', minLength: 1, maxLength: 100, description: 'A one-time code, in place of the token.' },
})
export type SignIn = Static<typeof SignIn>

export const ConsoleCode = shape('A code that signs in to the console once.', {
  object: always('operator.console_code'),
  code: text('The code. The console reads it from the fragment of its address: `/#code=…`.'),
  expires_at: time('When it expires.'),
})
export type ConsoleCode = Static<typeof ConsoleCode>

/** The keys are the names in the OpenAPI document. */
export const consoleResponses = { ConsoleCode }
