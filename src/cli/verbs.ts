import { type Command, findVerb, type Options, readArguments, refuseOptions } from './arguments.ts'
import { type Filmgate, openOperator } from './client.ts'
import { connectionOptions } from './connection.ts'
import { exits } from './failure.ts'
import { jsonLine } from './screen/text.ts'
import type { Terminal } from './terminal.ts'

/* Commands for operators that have a word for each action, such as `filmgate token create`. */

export interface Invocation<Given> {
  operator: Filmgate
  operands: readonly string[]
  values: Given
  terminal: Terminal
}

export interface Outcome {
  response: object
  show(): string
  /** `exits.done` by default. */
  exitCode?: number
}

/** The word of an action: its operands and options, its request, and how to show the response. */
export interface Verb<Given> {
  operands: readonly string[]
  /** Options, besides those of the connection. */
  accepts?: readonly (keyof Given & string)[]
  run(invocation: Invocation<Given>): Promise<Outcome>
}

interface Verbs<Given> {
  help: string
  /** Of all verbs: `Given` has their values. */
  options: Options
  verbs: Readonly<Record<string, Verb<Given>>>
}

export function operatorCommand<Given extends { 'base-url'?: string; token?: string; json?: boolean }>(
  name: string,
  { help, options, verbs }: Verbs<Given>,
): Command {
  return {
    help,
    async run([word = '', ...args], terminal) {
      const verb = findVerb(name, word, verbs)
      const read = readArguments(args, { options, operands: verb.operands })
      refuseOptions(`${name} ${word}`, read.values, [...Object.keys(connectionOptions), ...(verb.accepts ?? [])])
      const values = read.values as unknown as Given
      const operator = openOperator(values, terminal)
      const { operands } = read
      const { response, show, exitCode = exits.done } = await verb.run({ operator, operands, values, terminal })
      terminal.out(values.json ? jsonLine(response) : show())
      return exitCode
    },
  }
}
