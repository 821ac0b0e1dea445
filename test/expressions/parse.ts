/**
 * The parts of an expression, as far as texts need them that it nearly matches. Assertions consume nothing, so they are
 * empty; `within` has the content of a lookaround.
 */
export type Part =
  | { readonly kind: 'character'; readonly samples: readonly string[] }
  | { readonly kind: 'sequence'; readonly parts: readonly Part[] }
  | { readonly kind: 'choice'; readonly options: readonly Part[] }
  | { readonly kind: 'repeat'; readonly of: Part; readonly least: number; readonly most: number }
  | { readonly kind: 'empty'; readonly within?: Part }

/** One character of each kind that classes distinguish. */
const candidates = [
  ...'aZ0_ \t\n-./:;,=?!#%&@~$^*+|\'"`\\<>()[]{}\0\x7f',
  ...'bcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXY123456789',
  ...'é\u0301я漢ね\u200e\u00a0\u2028…–😀𝔸',
]

export function parseExpression({ source, flags }: RegExp): Part {
  let at = 0
  const peek = (text: string) => source.startsWith(text, at)
  const take = (text: string) => {
    const found = peek(text)
    if (found) at += text.length
    return found
  }

  function choice(): Part {
    const options = [sequence()]
    while (take('|')) options.push(sequence())
    return options.length === 1 && options[0] ? options[0] : { kind: 'choice', options }
  }

  function sequence(): Part {
    const parts: Part[] = []
    while (at < source.length && !peek('|') && !peek(')')) parts.push(repeated(one()))
    return { kind: 'sequence', parts }
  }

  function repeated(of: Part): Part {
    const [all, least, comma, most] = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})/.exec(source.slice(at)) ?? []
    if (all === undefined) return of
    at += all.length
    take('?')
    if (all === '*') return { kind: 'repeat', of, least: 0, most: Number.POSITIVE_INFINITY }
    if (all === '+') return { kind: 'repeat', of, least: 1, most: Number.POSITIVE_INFINITY }
    if (all === '?') return { kind: 'repeat', of, least: 0, most: 1 }
    const last = comma === '' ? Number(least) : most === '' ? Number.POSITIVE_INFINITY : Number(most)
    return { kind: 'repeat', of, least: Number(least), most: last }
  }

  function one(): Part {
    if (take('(')) return group()
    if (take('^') || take('$') || take('\\b') || take('\\B')) return { kind: 'empty' }
    return character(peek('[') ? classText() : peek('\\') ? escapeText() : plainText())
  }

  function group(): Part {
    const isLook = ['?=', '?!', '?<=', '?<!'].some(take)
    if (!isLook && !take('?:')) at += /^\?<\w+>/.exec(source.slice(at))?.[0].length ?? 0
    const inner = choice()
    take(')')
    return isLook ? { kind: 'empty', within: inner } : inner
  }

  function classText(): string {
    const start = at
    while (!peek(']')) at += peek('\\') ? 2 : 1
    at += 1
    return source.slice(start, at)
  }

  function plainText(): string {
    const text = String.fromCodePoint(source.codePointAt(at) ?? 0)
    at += text.length
    return text
  }

  function escapeText(): string {
    const [text = ''] = /^\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[\da-f]{4}|x[\da-f]{2}|.)/i.exec(source.slice(at)) ?? []
    at += text.length
    return text
  }

  function character(text: string): Part {
    const matches = new RegExp(`^(?:${text})$`, flags.replace(/[gy]/g, ''))
    const samples = candidates.filter((candidate) => matches.test(candidate))
    return { kind: 'character', samples: samples.length > 0 ? samples : [text] }
  }

  return choice()
}
