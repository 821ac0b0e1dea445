import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { closest } from '../core/closest.ts'
import { codeOf, messageOf } from '../core/problem.ts'
import { UsageFailure } from './failure.ts'
import { quoted } from './program.ts'
import type { Terminal } from './terminal.ts'

export interface Command {
  /** What `--help` prints. */
  readonly help: string
  /** Returns the exit code, or throws a `Failure` that has one. */
  run(args: string[], terminal: Terminal): Promise<number>
}

/** The options of a command by name, as `parseArgs` of `node:util` expects them. */
export type Options = Record<string, { type: 'string' | 'boolean'; short?: string; multiple?: boolean }>

export type Values<T extends Options> = {
  [Name in keyof T]?: T[Name]['type'] extends 'boolean' ? boolean : string
}

interface Shape<T extends Options> {
  options: T
  /** The names of the arguments that are not options, in order. All of them are required. */
  operands?: readonly string[]
  /** The message if there are more. */
  tooMany?: string
}

/** Reads the arguments of a command. Throws with the option that was probably meant. */
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
  // An unset variable of a shell. As an id in a path, it would lead to another route.
  const empty = operands[positionals.indexOf('')]
  if (empty !== undefined) throw new UsageFailure(`${empty} is empty`)
  return { values: values as Values<T>, operands: positionals }
}

function parse(args: string[], options: Options) {
  try {
    return parseArgs({ args: withNegatives(args, options), options, allowPositionals: true })
  } catch (error) {
    const [message, code] = [messageOf(error), codeOf(error)]
    if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
      const given = /'(-[^']*)'/.exec(message)?.[1] ?? ''
      throw noSuchOption(given, args, options)
    }
    // The first line of Node's message is clear. The rest is advice for rare cases.
    if (code?.startsWith('ERR_PARSE_ARGS')) throw new UsageFailure(message.split('\n')[0] ?? message)
    throw error
  }
}

/** Joins `--seed -1` into one word, because `parseArgs` rejects it. The command then says which numbers it accepts. */
function withNegatives(args: string[], options: Options): string[] {
  const withValue = Object.entries(options).flatMap(([name, { type, short }]) =>
    type === 'string' ? [`--${name}`, `-${short ?? name}`] : [],
  )
  const words: string[] = []
  for (const arg of args) {
    const before = words.at(-1) ?? ''
    if (!withValue.includes(before) || !/^-\d/.test(arg) || words.includes('--')) words.push(arg)
    else words[words.length - 1] = `${before}${before.startsWith('--') ? '=' : ''}${arg}`
  }
  return words
}

/** Either a typo, `-seed` for `--seed`, or a prompt that starts with a dash. */
function noSuchOption(given: string, args: string[], options: Options): UsageFailure {
  const known = Object.keys(options).map((name) => `--${name}`)
  const word = beforeDashes(args).find((arg) => arg.startsWith(given)) ?? given
  const guess = suggestion(word.startsWith('--') ? given : `-${word}`, known)
  const text = isDashedText(word) || (guess === '' && /^-\w{2}/.test(word))
  return new UsageFailure(`there is no option ${given}${text ? '' : guess}`, text ? dashHint(word) : null)
}

/** After `--` every word is an operand. */
function beforeDashes(args: string[]): string[] {
  return args.slice(0, args.includes('--') ? args.indexOf('--') : undefined)
}

/** No option has a space in it. */
function isDashedText(word: string): boolean {
  return /^-[^=]*\s/.test(word)
}

function dashHint(text: string | undefined): string | null {
  return text === undefined ? null : `Write a text that starts with a dash last, after two dashes: -- ${quoted(text)}`
}

/** `; did you mean …?`, or '' if no known word is similar. */
export function suggestion(given: string, known: readonly string[]): string {
  const [near] = closest(given, known)
  return near ? `; did you mean ${near}?` : ''
}

/** The word after a command, in `verbs`. Throws with the words that there are. */
export function findVerb<Verb>(command: string, word: string, verbs: Readonly<Record<string, Verb>>): Verb {
  const verb = Object.hasOwn(verbs, word) ? verbs[word] : undefined
  if (verb) return verb
  const known = Object.keys(verbs)
  const advice = suggestion(word, known) || `; use one of: ${known.join(', ')}`
  throw new UsageFailure(
    word === '' ? `the word after ${command} is missing${advice}` : `there is no '${command} ${word}'${advice}`,
  )
}

/** Words of one command share their options. An option of another word would be ignored silently. */
export function refuseOptions(command: string, values: object, accepted: readonly string[]): void {
  const odd = Object.keys(values).find((name) => !accepted.includes(name))
  if (odd !== undefined) throw new UsageFailure(`${command} does not accept --${odd}`)
}

/** The setting of an option, as the API expects it; `none` restores the default. */
export function settingOf(
  name: string,
  text: string | undefined,
  read: (text: string) => unknown = (value) => value,
): Record<string, unknown> {
  return text === undefined ? {} : { [name]: text === 'none' ? null : read(text) }
}

/** For options that also accept `none`. */
export function wholeNumber(text: string, option: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new UsageFailure(`${option} ${text}: use a whole number, or none`)
}

/** How many items to list. */
export function limitOf(text: string, most: number): number {
  const limit = /^[1-9]\d{0,3}$/.test(text) ? Number(text) : 0
  if (limit >= 1 && limit <= most) return limit
  throw new UsageFailure(`--limit ${text}: use a number from 1 to ${most}`)
}

/** The text of the file that an option names, or of stdin for `-`. */
export async function readFileOption(option: string, file: string, terminal: Terminal): Promise<string> {
  try {
    return file === '-' ? ((await terminal.readInput()) ?? '') : readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageFailure(`--${option} ${file}: it can't be read (${messageOf(error)})`)
  }
}
