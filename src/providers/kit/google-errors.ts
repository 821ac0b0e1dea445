import type { Refusal } from '../provider.ts'
import { entriesOf, type Fields, fieldsOf, problems, type RefusalDetails, textOf, wordOf } from './responses.ts'

/* Errors of both of Google's APIs, google.ts and vertex.ts. */

type Blame = Refusal['blame']

export async function readRefusal(response: Response, usual: Blame): Promise<RefusalDetails> {
  const error = await readError(response)
  const blame = blameFor(usual, error)
  const word = wordOf(error.status ?? error.code)
  const isPolicy = blame === 'request' && isOfContent(error)
  const problem = isPolicy ? problems.policy(word) : problems.refused(`a submit got ${response.status}: ${word}`)
  return { blame, problem, retryAfterMs: delayOf(error) }
}

export async function readError(response: Response): Promise<Fields> {
  const body: unknown = await response.json().catch(() => null)
  return fieldsOf(fieldsOf(Array.isArray(body) ? body[0] : body).error)
}

/** A bad key is a 400, and so is a country or project that Google does not serve. A used-up daily quota is a 429. */
function blameFor(usual: Blame, error: Fields): Blame {
  const text = textOf(error.message) ?? ''
  const details = JSON.stringify(error.details ?? null)
  const isAccount = /^failed_precondition$/i.test(wordOf(error.status ?? error.code)) || /^API key/.test(text)
  if (usual === 'request' && (isAccount || details.includes('"API_KEY_'))) return 'account'
  const isDaily = /PerDay/.test(details) || /\bper day\b|\bspend/i.test(text)
  return usual === 'busy' && isDaily ? 'account' : usual
}

/** Only the message shows it: the code is that of any bad request. */
export function isOfContent({ message }: Fields): boolean {
  return /violat|safety|responsible ai|usage guidelines|support codes?:|prohibited/i.test(textOf(message) ?? '')
}

/** How long Google asks to wait: { "@type": "…RetryInfo", "retryDelay": "17s" }. */
function delayOf({ details }: Fields): number | undefined {
  const delays = entriesOf(details).map(({ retryDelay }) => textOf(retryDelay))
  const seconds = Number(/^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(delays.find(Boolean) ?? '')?.[1])
  return Number.isNaN(seconds) ? undefined : seconds * 1_000
}
