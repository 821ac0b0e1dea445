import { parseArgs } from 'node:util'
import { closest } from '../core/closest.ts'
import { UsageFailure } from './failure.ts'
import { quoted } from './quoted.ts'

/** The options of a command by name, as `node:util` takes them. */
type Options = Record<string, { type: 'string' | 'boolean'; short?: string; multiple?: boolean }>

export type Values<T extends Options> = {
  [Name in keyof T]?: T[Name]['type'] extends 'boolean' ? boolean : string
}

interface Shape<T extends Options> {
  options: T
  /** The names of the arguments that are not options, in their order; all of them are required. */
  operands?: readonly string[]
  /** What to say if there are more. */
  tooMany?: string
}

/** Reads a command's arguments, or says what is wrong and which option was probably meant. */
export function readArguments<const T extends Options>(
  args: string[],
  { options, operands = [], tooMany }: Shape<T>,
): { values: Values<T>; operands: string[] } {
  const { values, positionals } = parse(args, options)
  const missing = operands[positionals.length]
  if (missing !== undefined)
    throw new UsageFailure(`${missing} is missing`, dashHint(beforeDashes(args).find(isDashedText)))
  if (positionals.length > operands.length) {
    const extra = positionals[operands.length]
    throw new UsageFailure(tooMany ?? `'${extra}' is one argument too many`)
  }
  return { values: values as Values<T>, operands: positionals }
}

function parse(args: string[], options: Options) {
  try {
    return parseArgs({ args: withNegatives(args, options), options, allowPositionals: true })
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException
    if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
      const given = /'(-[^']*)'/.exec(message)?.[1] ?? ''
      throw noSuchOption(given, args, options)
    }
    // Node's sentence is clear, its advice on '=' and '--' is for rarer cases.
    if (code?.startsWith('ERR_PARSE_ARGS')) throw new UsageFailure(message.split('\n')[0] ?? message)
    throw error
  }
}

/** `--seed -1` as one word, since `parseArgs` refuses it: each command can say which numbers it takes. */
function withNegatives(args: string[], options: Options): string[] {
  const takers = Object.entries(options).flatMap(([name, { type, short }]) =>
    type === 'string' ? [`--${name}`, `-${short ?? name}`] : [],
  )
  const words: string[] = []
  for (const arg of args) {
    const before = words.at(-1) ?? ''
    if (!takers.includes(before) || !/^-\d/.test(arg) || words.includes('--')) words.push(arg)
    else words[words.length - 1] = `${before}${before.startsWith('--') ? '=' : ''}${arg}`
  }
  return words
}

/** It may be a slip, `-seed` for `--seed`, or no option at all but a text that starts with a dash. */
function noSuchOption(given: string, args: string[], options: Options): UsageFailure {
  const known = Object.keys(options).map((name) => `--${name}`)
  const word = beforeDashes(args).find((arg) => arg.startsWith(given)) ?? given
  const guess = suggestion(word.startsWith('--') ? given : `-${word}`, known)
  const text = isDashedText(word) || (guess === '' && /^-\w{2}/.test(word))
  return new UsageFailure(`there is no option ${given}${text ? '' : guess}`, text ? dashHint(word) : null)
}

/** After `--` everything is meant literally. */
function beforeDashes(args: string[]): string[] {
  return args.slice(0, args.includes('--') ? args.indexOf('--') : undefined)
}

/** No option has a space in it. */
function isDashedText(word: string): boolean {
  return /^-[^=]*\s/.test(word)
}

function dashHint(text: string | undefined): string | null {
  return text === undefined ? null : `A text that starts with a dash goes last, behind two dashes: -- ${quoted(text)}`
}

/** `; did you mean …?`, or nothing if no known word is near. */
export function suggestion(given: string, known: readonly string[]): string {
  const [near] = closest(given, known)
  return near ? `; did you mean ${near}?` : ''
}
