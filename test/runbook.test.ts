import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { send, startFakeApi } from '../src/cli/cli.fixture.ts'
import { runCli } from '../src/cli/index.ts'
import { openTerminal } from '../src/cli/terminal.ts'
import { alarmKindNames, alarmKinds } from '../src/core/alarms.ts'

/* docs/runbook.md, which an operator follows at night. */

const page = readFileSync(join(import.meta.dirname, '..', 'docs', 'runbook.md'), 'utf8')

it('docs/runbook.md has a section for each kind, with its severity, how to see it and what to type', () => {
  const [, ...sections] = page.split(/^## (?=[a-z_]+$)/m)
  const named = new Map(sections.map((text) => [text.slice(0, text.indexOf('\n')), text]))
  assert.deepEqual([...named.keys()].sort(), [...alarmKindNames].sort())
  for (const [kind, text] of named) {
    const { severity } = alarmKinds[kind as keyof typeof alarmKinds]
    const parts = ['What happened.', 'How to see it.', 'What to do.', 'It clears', severity]
    for (const part of parts.map((words) => `**${words}**`)) assert.ok(text.includes(part), `${kind} lacks ${part}`)
    assert.match(text, /```sh\n/, `${kind} has no command`)
  }
})

/** The commands of this page and of the first aid, each as its words. */
function commandsOf(text: string): string[][] {
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```/gms)].flatMap(([, lines = '']) => lines.split('\n'))
  const inline = [...text.matchAll(/`(filmgate [^`]+)`/g)].map(([, command = '']) => command)
  const typed = [...blocks, ...inline].flatMap((line) => /(?:^|[ |(])filmgate ([^|#)]+)/.exec(line)?.[1] ?? [])
  return [...new Set(typed.map((words) => words.trim()))].map((words) => words.split(/ +/))
}

it('the command line accepts every command of the runbook and of the first aid', async () => {
  // A command that was understood fails here, with 1. A mistake in the command is 2.
  await using api = await startFakeApi((_, response) => send(response, 404, { error: { message: 'not here' } }))
  const env = { FILMGATE_BASE_URL: `${api.url}/v1`, FILMGATE_TOKEN: 'a', FILMGATE_OPERATOR_TOKEN: 'b' }
  let said = ''
  const err = (text: string) => {
    said = text
  }
  const person = { canAsk: true, readKey: async () => 'y', readInput: async () => 'a key' }
  const terminal = { ...openTerminal(), ...person, env, out() {}, err }
  const firstAid = Object.values(alarmKinds).map(({ firstAid }) => firstAid)
  // `serve` would run until it is stopped.
  const commands = commandsOf([page, ...firstAid].join('\n')).filter(([name]) => name !== 'serve')
  assert.ok(commands.length > 30, `${commands.length} commands`)
  const refused: string[] = []
  for (const words of commands)
    if ((await runCli(words, terminal)) === 2) refused.push(`filmgate ${words.join(' ')}: ${said}`)
  assert.deepEqual(refused, [])
})
