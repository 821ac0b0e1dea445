import { type CardTemplate, type ModelCard, takesSeconds, takesSize, whatItTakes } from '../core/catalog.ts'
import type { Route } from '../core/routing.ts'
import type { Mistakes } from './mistakes.ts'
import type { Makers } from './routes.ts'

/** A model may offer less than the providers that make it, and never more: every such film would fail there. */
export function checkLimits(where: string, card: ModelCard, makers: Makers, mistakes: Mistakes): void {
  const checked = new Set<CardTemplate>()
  for (const route of card.routes) {
    const limit = limitOf(route, makers)
    if (!limit || checked.has(limit)) continue
    checked.add(limit)
    const takes = whatItTakes({ ...limit, id: limit.upstreamModel })
    const tooLong = secondsOf(card).find((seconds) => !takesSeconds(limit.seconds, seconds))
    if (tooLong !== undefined)
      mistakes.add(`${where}.seconds`, `'${limit.provider}' makes no film of ${tooLong} s`, inOneLine(takes.seconds))
    const wrong = sizesOf(card, limit).find((size) => !takesSize(limit.size, size))
    if (wrong !== undefined)
      mistakes.add(`${where}.size`, `'${limit.provider}' makes no film of ${wrong}`, inOneLine(takes.size))
  }
}

/** What the provider itself says of the model. Of a name that it does not list nothing is known. */
function limitOf({ account, upstreamModel }: Route, { accounts, members }: Makers): CardTemplate | undefined {
  const provider = accounts.list.find(({ name }) => name === account)?.provider
  const member = provider === undefined ? undefined : members[provider]
  return member?.cards.find((card) => card.upstreamModel === upstreamModel)
}

function secondsOf({ seconds: rule }: ModelCard): readonly number[] {
  if ('values' in rule) return rule.values
  return Array.from({ length: rule.max - rule.min + 1 }, (_, at) => rule.min + at)
}

/** Of a range, its corners and the first step from them: what is in between is as good as they are. */
function sizesOf({ size: rule }: ModelCard, limit: CardTemplate): readonly string[] {
  if ('values' in rule) return rule.values
  if ('values' in limit.size)
    return [rule.default, `${rule.minSide}x${rule.minSide}`, `${rule.maxSide}x${rule.maxSide}`]
  const step = rule.multipleOf
  const least = Math.ceil(rule.minSide / step) * step
  const most = Math.floor(rule.maxSide / step) * step
  return [least, Math.min(least + step, most), most].map((side) => `${side}x${side}`)
}

function inOneLine(sentence: string): string {
  return sentence.replace(/\.$/, '')
}
