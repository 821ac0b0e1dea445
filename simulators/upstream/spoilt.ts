import { type Answer, html, json, type Silence } from './answer.ts'

/** A way in which a JSON answer can be damaged between the server and the client. */
export interface Spoilt {
  name: string
  description: string
  /** Whether it contains the true answer. */
  carries: boolean
  answer(text: string): Answer
}

const lost = (name: string, description: string, answer: () => Answer): Spoilt => ({
  name,
  description,
  carries: false,
  answer,
})
const kept = (name: string, description: string, answer: (text: string) => Answer): Spoilt => ({
  name,
  description,
  carries: true,
  answer,
})

const ok = (body: string, more: Omit<Answer, 'status' | 'body'> = {}): Answer => ({ status: 200, body, ...more })
/** The same object with one more member, built as text. */
const extended = (text: string, member: string) => `${text.slice(0, -1)},${member}}`

export const spoilt: readonly Spoilt[] = [
  lost('garbage', '200 with bytes that are not JSON', () => ok('\u0000}{"id"::')),
  lost('html', '200 with an HTML page, as a proxy in between would send', () => html(200, 'Sign in to continue')),
  lost('empty', '200 with no bytes', () => ok('')),
  lost('null', '200 with the JSON value null', () => json(200, null)),
  lost('list', '200 with a JSON list', () => json(200, [])),
  kept('truncated', '200 with the first half of the JSON, of an honest length', (text) =>
    ok(text.slice(0, text.length / 2)),
  ),
  kept('deep', '200 with lists 100 000 deep beside the truth', (text) =>
    ok(extended(text, `"deep":${'['.repeat(100_000)}${']'.repeat(100_000)}`)),
  ),
  kept('huge', '200 with 2 MiB beside the truth', (text) => ok(extended(text, `"more":"${'x'.repeat(2 ** 21)}"`))),
  kept('endless', '200 with the truth and then spaces for ever', (text) =>
    ok(text, { length: 'none', ending: 'endless' }),
  ),
  kept('drip', '200 with the truth, a byte at a time', (text) => ok(text, { ending: 'drip' })),
  kept('hang-in-body', '200, half of the truth, then nothing', (text) =>
    ok(text.slice(0, text.length / 2), { length: text.length, ending: 'hang' }),
  ),
  kept('length-too-long', '200 with the truth, but Content-Length promises more, and the connection closes', (text) =>
    ok(text, { length: text.length + 10, ending: 'close' }),
  ),
  kept('length-too-short', '200 with the truth, but Content-Length promises less', (text) =>
    ok(text, { length: text.length - 5, ending: 'close' }),
  ),
]

export const silences: readonly { name: Silence; description: string }[] = [
  { name: 'hang', description: 'never answers' },
  { name: 'close', description: 'closes the connection without an answer' },
  { name: 'reset', description: 'resets the connection without an answer' },
  { name: 'noise', description: 'answers in another protocol' },
]

/** An error status. 502 and 504 come from a proxy, which sends HTML. */
export function failing(status: number): Answer {
  return status === 502 || status === 504 ? html(status, 'Bad gateway') : json(status, { error: `simulated ${status}` })
}
