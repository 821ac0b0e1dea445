import { readFileSync } from 'node:fs'
import { messageOf } from '../core/problem.ts'
import { OperatorModel, OperatorModelList, RemovedModel } from '../wire/declared-models.ts'
import { isObject, type Read } from '../wire/schema.ts'
import { type Command, findVerb, readArguments, refuseOptions, type Values } from './arguments.ts'
import { type Filmgate, openOperator, operatorHelp } from './client.ts'
import { connectionOptions } from './connection.ts'
import { UsageFailure } from './failure.ts'
import { table } from './screen/table.ts'
import { jsonLine, painter, printable } from './screen/text.ts'
import type { Terminal } from './terminal.ts'

const modelHelp = `Usage: filmgate model list         list models and aliases with their routes
       filmgate model set NAME     declare a model, or change one
       filmgate model remove NAME  remove what was declared

For operators, with an operator's token. Every process of the service follows a
change within a second. The settings are those of \`models\` in filmgate.yaml.
What the file declares wins, and can be changed only there.

Examples:
  filmgate model set fast --account kling-2 --model kling-3.0
  filmgate model set kling-3.0 --settings routes.json
  filmgate model list --json | jq '.data[] | select(.source == "store")'

Options for set:
  --account NAME      the account that generates its videos
  --model NAME        the name of the model in the catalogue, or at the provider
  --settings FILE     all settings as a JSON object; - reads them from stdin

Other options:
  --json              the response of the server

${operatorHelp}`

const aliasHelp = `Usage: filmgate alias set NAME MODEL  let clients use another name for a model
       filmgate alias remove NAME     remove it

For operators, with an operator's token. Every process of the service follows a
change within a second. Aliases of filmgate.yaml can be changed only there.

Examples:
  filmgate alias set sora-2 studio
  filmgate alias remove sora-2
  filmgate model list

Options:
  --json              the response of the server

${operatorHelp}`

const options = {
  ...connectionOptions,
  account: { type: 'string' },
  model: { type: 'string' },
  settings: { type: 'string' },
} as const

type Given = Values<typeof options>

interface Invocation {
  operator: Filmgate
  operands: readonly string[]
  values: Given
  terminal: Terminal
}

interface Outcome {
  response: object
  show(): string
}

/** A word after `model` or `alias`: the options that it accepts, its request, and how to show the response. */
interface Verb {
  operands: readonly string[]
  accepts?: readonly (keyof Given)[]
  run(invocation: Invocation): Promise<Outcome>
}

const modelVerbs: Record<string, Verb> = {
  list: {
    operands: [],
    async run({ operator, terminal }) {
      const response = await operator.get('/models', OperatorModelList)
      return { response, show: () => showModels(response, terminal) }
    },
  },
  set: {
    operands: ['the name of the model'],
    accepts: ['account', 'model', 'settings'],
    async run({ operator, operands: [name], values, terminal }) {
      const body = { name, settings: await settingsOf(values, terminal) }
      return shownAsSet(await operator.post('/models', OperatorModel, body))
    },
  },
  remove: { operands: ['the name of the model'], run: (invocation) => remove('models', invocation) },
}

const aliasVerbs: Record<string, Verb> = {
  set: {
    operands: ['the name', 'the model'],
    async run({ operator, operands: [name, model] }) {
      return shownAsSet(await operator.post('/aliases', OperatorModel, { name, model }))
    },
  },
  remove: { operands: ['the name'], run: (invocation) => remove('aliases', invocation) },
}

export const model = commandOf('model', modelHelp, modelVerbs)
export const alias = commandOf('alias', aliasHelp, aliasVerbs)

function commandOf(name: string, help: string, verbs: Record<string, Verb>): Command {
  return {
    help,
    async run([word = '', ...args], terminal) {
      const verb = findVerb(name, word, verbs)
      const { values, operands } = readArguments(args, { options, operands: verb.operands })
      refuseOptions(`${name} ${word}`, values, [...Object.keys(connectionOptions), ...(verb.accepts ?? [])])
      const operator = openOperator(values, terminal)
      const { response, show } = await verb.run({ operator, operands, values, terminal })
      terminal.out(values.json ? jsonLine(response) : show())
      return 0
    },
  }
}

async function remove(path: 'models' | 'aliases', { operator, operands: [name = ''] }: Invocation): Promise<Outcome> {
  const response = await operator.remove(`/${path}/${encodeURIComponent(name)}`, RemovedModel)
  return { response, show: () => `removed ${printable(response.name)}\n` }
}

function shownAsSet(response: Read<typeof OperatorModel>): Outcome {
  const { name, kind, routes, model: target } = response
  const accounts = routes.map(({ account }) => account).join(', ')
  const text = kind === 'alias' ? `${name} is ${target}` : `${name} is generated by ${accounts}`
  return { response, show: () => `${printable(text)}\n` }
}

async function settingsOf({ account, model, settings }: Given, terminal: Terminal): Promise<object> {
  const given = settings === undefined ? {} : await readSettings(settings, terminal)
  const all = { ...given, ...(account !== undefined && { account }), ...(model !== undefined && { model }) }
  if (Object.keys(all).length > 0) return all
  throw new UsageFailure('there is nothing to set; use --account or --settings')
}

async function readSettings(file: string, terminal: Terminal): Promise<object> {
  try {
    const text = file === '-' ? ((await terminal.readInput()) ?? '') : readFileSync(file, 'utf8')
    const settings: unknown = JSON.parse(text)
    if (isObject(settings)) return settings
  } catch (error) {
    throw new UsageFailure(`--settings ${file}: it can't be read (${messageOf(error)})`)
  }
  throw new UsageFailure(`--settings ${file}: it is not a JSON object`)
}

function showModels({ data, unused }: Read<typeof OperatorModelList>, terminal: Terminal): string {
  for (const one of unused) terminal.err(`A declaration is not in force: ${printable(one)}.\n`)
  if (data.length === 0) terminal.err('There is no model.\n')
  if (data.length === 0) return ''
  const paint = painter(terminal.colour.stdout)
  return table(
    data,
    [
      { title: 'NAME', text: ({ name }) => name, least: 8, paint: (_, text) => paint('bold', text) },
      { title: 'SOURCE', text: ({ source }) => source },
      { title: 'MODEL', text: ({ kind, model: target }) => (kind === 'alias' ? target : ''), extra: true },
      {
        title: 'ACCOUNTS',
        text: ({ routes }) => routes.map(({ account }) => account).join(' '),
        least: 8,
        extra: true,
      },
    ],
    { columns: terminal.stdoutIsTerminal ? terminal.size().columns : null, paint },
  )
}
