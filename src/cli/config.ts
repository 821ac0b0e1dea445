import { schemaForEditors } from '../config/schema.ts'
import { type Command, readArguments, suggestion } from './arguments.ts'
import { exits, UsageFailure } from './failure.ts'

const help = `Usage: filmgate config schema

Prints the JSON Schema of filmgate.yaml: every key with its type, its limits and
its description. An editor that knows the schema completes keys, explains them
and marks mistakes while you type. Editors with the YAML language server (VS
Code, Neovim and others) read its path from the first line of filmgate.yaml:

  # yaml-language-server: $schema=filmgate.schema.json

Names that must exist elsewhere, such as accounts, are checked by the service
when it starts.

Examples:
  filmgate config schema > filmgate.schema.json
  filmgate config schema | jq '.properties | keys'

Exit codes: 0 done, 2 a mistake in the command.
`

export const command: Command = {
  help,
  async run([word = '', ...args], terminal) {
    if (word === '') throw new UsageFailure('the word after config is missing; use config schema')
    if (word !== 'schema') throw new UsageFailure(`there is no 'config ${word}'${suggestion(word, ['schema'])}`)
    readArguments(args, { options: {} })
    terminal.out(`${JSON.stringify(schemaForEditors(), null, 2)}\n`)
    return exits.done
  },
}
