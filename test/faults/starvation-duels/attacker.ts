import { setPriority } from 'node:os'
import { openaiWire } from '../../../simulators/openai.ts'
import { startUpstream } from '../../../simulators/upstream.ts'
import type { Target } from './duel.ts'
import { type DuelName, duels } from './index.ts'
import type { Answers } from './senders.ts'

/*
 * The attacker of one duel, in a process of its own that yields to the service and its children: a real one has a machine
 * of its own. It says which hosts it has, and then does each step that it is told to.
 */
export type Order = { step: 'prepare' | 'begin'; target: Target } | { step: 'count' }
export type Report =
  | { step: 'open'; allow: readonly string[]; engine: number }
  | { step: 'prepare' | 'begin' }
  | { step: 'count'; answers: [string, number][] }

setPriority(19)
process.once('disconnect', () => process.exit())
const report = (what: Report) => process.send?.(what)
const answers: Answers = new Map()
const [name, film] = process.argv.slice(2) as [DuelName, string?]
const upstream = await startUpstream({ wire: openaiWire('vllm-omni'), ...(film && { film }) })
const attack = await duels[name].openAttack({ upstream, answers })
process.on('message', async (order: Order) => {
  if (order.step === 'count') return report({ step: 'count', answers: [...answers] })
  if (order.step === 'prepare') await attack.prepare?.(order.target)
  else await attack.begin(order.target)
  report({ step: order.step })
})
report({ step: 'open', allow: attack.allow, engine: upstream.port })
