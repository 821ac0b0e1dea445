import { OperatorAccount, OperatorAccountList, OperatorAccountTest, RemovedAccount } from '../wire/accounts.ts'
import type { Read } from '../wire/schema.ts'
import { showAccounts, whyOf } from './accounts.ts'
import { readFileOption, settingOf, type Values, wholeNumber } from './arguments.ts'
import { operatorHelp } from './client.ts'
import { connectionOptions } from './connection.ts'
import { exits, UsageFailure } from './failure.ts'
import { facts, lookOf } from './screen/table.ts'
import { printable } from './screen/text.ts'
import { count } from './screen/wording.ts'
import type { Terminal } from './terminal.ts'
import { type Invocation, type Outcome, operatorCommand, type Verb } from './verbs.ts'

const help = `Usage: filmgate account add NAME     add an account of a provider
       filmgate account list         list all accounts
       filmgate account show NAME    show one account
       filmgate account change NAME  change its settings
       filmgate account test NAME    check its key with a free request
       filmgate account pause NAME   send nothing to it, and poll nothing
       filmgate account drain NAME   give it no new tasks
       filmgate account resume NAME  end a pause or a drain
       filmgate account remove NAME  remove it, when its tasks have ended

For operators, with an operator's token. Every process of the service follows a
change within a second. The key is stored encrypted and never shown. Accounts of
filmgate.yaml are listed, and can be changed only there.

Examples:
  printf %s "$KEY" | filmgate account add main --provider kling --key-file -
  filmgate account add gpu-1 --provider openai --address http://10.0.0.5/v1
  filmgate account change kling-2 --concurrency 8
  filmgate account drain kling-2
  filmgate account list --json | jq -r '.data[] | [.name, .mode] | @tsv'

Options for add and change; \`none\` restores the default:
  --key-file FILE     a file with the key; - reads it from stdin
  --address URL       the address of the provider (the provider's own)
  --concurrency N     tasks that run at once (4)
  --on-unknown RULE   after a submit of unknown outcome: hold, fail, resubmit
                      (hold)
  --verify MODE       how results are verified: full, smart
  --provider NAME     for add: the provider (the name of the account)

Other options:
  --json              the response of the server; times are ISO 8601 in UTC

${operatorHelp}`

const options = {
  ...connectionOptions,
  provider: { type: 'string' },
  'key-file': { type: 'string' },
  address: { type: 'string' },
  concurrency: { type: 'string' },
  'on-unknown': { type: 'string' },
  verify: { type: 'string' },
} as const

type Given = Values<typeof options>
type Shown = Read<typeof OperatorAccount>

const settings = ['key-file', 'address', 'concurrency', 'on-unknown', 'verify'] as const

const theAccount = ['the name of the account']

const verbs: Record<string, Verb<Given>> = {
  add: {
    operands: theAccount,
    accepts: [...settings, 'provider'],
    async run({ operator, operands: [name = ''], values, terminal }) {
      const { provider } = values
      const body = { name, ...(provider !== undefined && { provider }), ...(await settingsOf(values, terminal)) }
      const response = await operator.post('/accounts', OperatorAccount, body)
      return { response, show: () => showAccount(response, terminal) }
    },
  },
  list: {
    operands: [],
    async run({ operator, terminal }) {
      const response = await operator.get('/accounts', OperatorAccountList)
      return { response, show: () => showAccounts(response, terminal) }
    },
  },
  show: {
    operands: theAccount,
    async run({ operator, operands: [name = ''], terminal }) {
      const response = await operator.get(pathOf(name), OperatorAccount)
      return { response, show: () => showAccount(response, terminal) }
    },
  },
  change: {
    operands: theAccount,
    accepts: settings,
    async run({ operator, operands: [name = ''], values, terminal }) {
      const body = await settingsOf(values, terminal)
      if (Object.keys(body).length === 0) throw new UsageFailure('there is nothing to change; set an option')
      const response = await operator.post(pathOf(name), OperatorAccount, body)
      return { response, show: () => showAccount(response, terminal) }
    },
  },
  test: {
    operands: theAccount,
    async run({ operator, operands: [name = ''] }) {
      const response = await operator.post(`${pathOf(name)}/test`, OperatorAccountTest)
      const { state, seen, fix } = response
      const text = fix === null ? `${state}: ${seen}` : `${state}: ${seen}; ${fix}`
      return { response, show: () => `${printable(text)}\n`, exitCode: state === 'usable' ? exits.done : exits.error }
    },
  },
  pause: { operands: theAccount, run: (invocation) => setMode('pause', invocation) },
  drain: { operands: theAccount, run: (invocation) => setMode('drain', invocation) },
  resume: { operands: theAccount, run: (invocation) => setMode('resume', invocation) },
  remove: {
    operands: theAccount,
    async run({ operator, operands: [name = ''] }) {
      const response = await operator.remove(pathOf(name), RemovedAccount)
      return { response, show: () => `removed ${printable(response.name)}\n` }
    },
  },
}

export const command = operatorCommand('account', { help, options, verbs })

function pathOf(name: string): string {
  return `/accounts/${encodeURIComponent(name)}`
}

async function setMode(
  word: 'pause' | 'drain' | 'resume',
  { operator, operands: [name = ''] }: Invocation<Given>,
): Promise<Outcome> {
  const response = await operator.post(`${pathOf(name)}/${word}`, OperatorAccount)
  const tasks = count(response.unfinished_tasks ?? 0, 'unfinished task')
  const shown = printable(response.name)
  const text = {
    pause: `paused ${shown}; ${tasks} waiting at its provider`,
    drain: `draining ${shown}; ${tasks} left at its provider; queued tasks wait for other accounts`,
    resume: response.was_paused ? `resumed ${shown}` : `${shown} was not paused`,
  }[word]
  return { response, show: () => `${text}\n` }
}

/** The settings of the options, as the API expects them. */
async function settingsOf(values: Given, terminal: Terminal): Promise<Record<string, unknown>> {
  const { 'key-file': file, address, concurrency, 'on-unknown': onUnknown, verify } = values
  return {
    ...(file !== undefined && { key: await readKey(file, terminal) }),
    ...settingOf('base_url', address),
    ...settingOf('concurrency', concurrency, (text) => wholeNumber(text, '--concurrency')),
    ...settingOf('on_unknown', onUnknown),
    ...settingOf('verify', verify),
  }
}

/** Not an option: other users of the machine can see the options of a command. */
async function readKey(file: string, terminal: Terminal): Promise<string> {
  const key = (await readFileOption('key-file', file, terminal)).trim()
  if (key === '') throw new UsageFailure(`--key-file ${file}: there is no key in it`)
  return key
}

function showAccount(account: Shown, terminal: Terminal): string {
  const { key_set: isSet, key_hint: hint, base_url: address, unfinished_tasks: unfinished } = account
  const pairs: [string, string][] = [
    ['name', account.name],
    ['mode', account.mode],
    ['health', [account.health.state, whyOf(account, terminal.now())].filter((text) => text !== '').join(': ')],
    ['set in', account.source === 'config' ? 'the configuration' : ''],
    ['provider', account.provider],
    ['address', address ?? ''],
    ['key', isSet ? (hint === null ? 'set' : `set, ends in ${hint}`) : 'none'],
    ['concurrency', `${count(account.concurrency, 'task')} at once`],
    ['on unknown', account.on_unknown],
    ['recovery', account.recovery],
    [
      'unfinished tasks',
      unfinished === undefined ? '' : `${unfinished} at its provider; queued tasks have no account yet`,
    ],
  ]
  return facts(pairs, lookOf(terminal))
}
