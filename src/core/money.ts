/*
 * Money is an integer: millionths of one unit of the currency ("micros"), which JSON, SQLite and PostgreSQL all keep
 * exactly up to 9 billion units. Prices are decimal text and are multiplied exactly. An amount is rounded once, at the
 * end, up to the next micro.
 */

/** Up to 9 digits before the point and 12 after it: 0.0000025. */
export const decimalPattern = '^\\d{1,9}(\\.\\d{1,12})?$'

/** A decimal number: `digits` / 10 ** `scale`. */
export interface Decimal {
  readonly digits: bigint
  readonly scale: number
}

/** The number of a text that was checked before, or is a product, which has more digits. */
export function toDecimal(text: string): Decimal {
  if (!/^\d+(\.\d+)?$/.test(text)) throw new Error(`'${text.slice(0, 50)}' is not a decimal number`)
  const [whole = '', fraction = ''] = text.split('.')
  return { digits: BigInt(whole + fraction), scale: fraction.length }
}

export function toText({ digits, scale }: Decimal): string {
  const text = String(digits).padStart(scale + 1, '0')
  return scale === 0 ? text : `${text.slice(0, -scale)}.${text.slice(-scale)}`
}

export function multiply(one: Decimal, other: Decimal): Decimal {
  return { digits: one.digits * other.digits, scale: one.scale + other.scale }
}

export function sum(numbers: readonly Decimal[]): Decimal {
  const scale = Math.max(0, ...numbers.map((number) => number.scale))
  const digits = numbers.reduce((total, number) => total + number.digits * 10n ** BigInt(scale - number.scale), 0n)
  return { digits, scale }
}

/** Rounds up, so that no part of a price is lost. Undefined if the amount is larger than any real one. */
export function toMicros({ digits, scale }: Decimal): number | undefined {
  const divisor = 10n ** BigInt(scale)
  const micros = Number((digits * 1_000_000n + divisor - 1n) / divisor)
  return Number.isSafeInteger(micros) ? micros : undefined
}

/** 0.42 of 420 000 micros. */
export function fromMicros(micros: number): number {
  return Number(amountText(micros))
}

/** `0.42 USD`. */
export function moneyText(micros: number, currency: string): string {
  return `${amountText(micros)} ${currency}`
}

/** `0.42`. */
export function amountText(micros: number): string {
  const text = withoutZeros(toText({ digits: BigInt(Math.abs(micros)), scale: 6 }))
  return micros < 0 ? `-${text}` : text
}

/** Without the zeros at the end of a fraction: 0.42 of 0.420000. */
export function withoutZeros(text: string): string {
  if (!text.includes('.')) return text
  let end = text.length
  while (text[end - 1] === '0') end -= 1
  return text.slice(0, text[end - 1] === '.' ? end - 1 : end)
}
