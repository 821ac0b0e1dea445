import { ConsoleCode } from '../wire/console.ts'
import { pick } from '../wire/schema.ts'
import { type Command, readArguments } from './arguments.ts'
import { openOperator, operatorHelp } from './client.ts'
import { connectionOptions } from './connection.ts'
import { jsonLine, printable } from './screen/text.ts'

const help = `Usage: filmgate console

Prints a link that opens the operator's console and signs you in. It works
once, within 10 minutes. For operators, with the token of an admin.

Example:
  filmgate console

Options:
  --json              the response of the server, and the link as \`url\`

${operatorHelp}`

export const command: Command = {
  help,
  async run(args, terminal) {
    const { values } = readArguments(args, { options: connectionOptions })
    const operator = openOperator(values, terminal)
    const found = await operator.post('/console_codes', pick(ConsoleCode, ['code', 'expires_at']))
    const url = `${operator.baseUrl.replace(/\/operator\/v1$/, '')}/#code=${encodeURIComponent(found.code)}`
    if (!values.json) terminal.err('This link signs you in once, within 10 minutes:\n')
    terminal.out(values.json ? jsonLine({ ...found, url }) : `${printable(url)}\n`)
    return 0
  },
}
