import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openaiWire } from '../../../simulators/openai.ts'
import { startUpstream } from '../../../simulators/upstream.ts'
import { spawnServer } from '../../process.ts'
import type { Order, Report } from './attacker.ts'
import { type Duel, models, type Target, type World } from './duel.ts'
import { startHost } from './host.ts'
import { type DuelName, duels } from './index.ts'
import { greyMp4 } from './mp4.ts'
import { openSilentNames } from './silent-names.ts'
import { ask } from './working.ts'

/** A service with default settings, two tokens and an engine for each of them, in a process of its own. */
export interface Arena {
  readonly world: World
  /** Tells the attacker to do a step, and waits until it is done. */
  prepare(): Promise<void>
  begin(): Promise<void>
  /** How often each status was answered to the attacker so far. */
  answers(): Promise<[string, number][]>
}

const secrets = { working: 'the key of the working token', attacking: 'the key of the attacking token' }
const operatorToken = 'the key of the operator'
/** So many that the working token never waits for a slot; the attacker's tasks may wait for theirs. */
const concurrency = { working: 1_000, attacking: 64 }

/** `store`: the URL of an empty database, or none for SQLite. */
export async function openArena(
  name: DuelName,
  store: string | undefined,
  stack: AsyncDisposableStack,
): Promise<Arena> {
  const { jobMs = 3_600_000, needsSilentNames, mostOpenFiles, film }: Duel = duels[name]
  const folder = mkdtempSync(join(tmpdir(), 'filmgate-duel-'))
  stack.defer(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  const silence = needsSilentNames && stack.use(await openSilentNames(folder))
  const host = stack.use(await startHost())
  const filmPath = join(folder, 'film.mp4')
  if (film) writeFileSync(filmPath, greyMp4(film))
  const made = film && { film: filmPath }
  const upstream = stack.use(await startUpstream({ wire: openaiWire('vllm-omni'), speed: jobMs, ...made }))
  const attacker = openAttacker([name, ...(film ? [filmPath] : [])], stack)
  const { allow, engine } = await attacker.opened
  const config = join(folder, 'filmgate.yaml')
  // JSON is YAML.
  writeFileSync(config, JSON.stringify(settingsOf({ upstream: upstream.port, engine, allow: [host.allow, ...allow] })))
  const service = stack.use(
    spawnServer({
      env: {
        FILMGATE_CONFIG: config,
        FILMGATE_DATA: join(folder, 'data'),
        FILMGATE_OPERATOR_TOKEN: operatorToken,
        FILMGATE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
        ...(store && { FILMGATE_STORE: store }),
      },
      under: [...(silence ? silence.under : []), ...(mostOpenFiles ? limitedTo(mostOpenFiles) : [])],
    }),
  )
  const url = await service.url
  const target = { url, token: secrets.working }
  const attacked: Target = { url, token: secrets.attacking }
  await ask(target, '/v1/models')
  return {
    world: { target, operatorToken, upstream, host },
    prepare: () => attacker.do('prepare', attacked),
    begin: () => attacker.do('begin', attacked),
    answers: () => attacker.count(),
  }
}

function limitedTo(openFiles: number): string[] {
  return ['sh', '-c', `ulimit -n ${openFiles} && exec "$@"`, 'sh']
}

function settingsOf({ upstream, engine, allow }: { upstream: number; engine: number; allow: readonly string[] }) {
  // A name, as hosted providers have one.
  const engineOf = (name: 'working' | 'attacking', port: number) => ({
    name,
    url: `http://localhost:${port}`,
    concurrency: concurrency[name],
  })
  return {
    tokens: Object.entries(secrets).map(([name, secret]) => ({ name, secret })),
    engines: [engineOf('working', upstream), engineOf('attacking', engine)],
    models: Object.fromEntries(Object.entries(models).map(([account, name]) => [name, { account, model: 'film' }])),
    outbound: { allow },
  }
}

function openAttacker(args: [name: DuelName, ...film: string[]], stack: AsyncDisposableStack) {
  const child = fork(join(import.meta.dirname, 'attacker.ts'), args)
  const exit = once(child, 'exit')
  stack.defer(async () => {
    child.kill('SIGKILL')
    await exit
  })
  const tell = async <Step extends Order['step']>(order: Order & { step: Step }) => {
    child.send(order)
    return reportOf(child, order.step)
  }
  return {
    opened: reportOf(child, 'open'),
    async do(step: 'prepare' | 'begin', target: Target): Promise<void> {
      await tell({ step, target })
    },
    count: async () => (await tell({ step: 'count' })).answers,
  }
}

/** No step of an attacker takes longer. */
const longestStepMs = 120_000

/** The next report of that step; rejects if it does not come. */
function reportOf<Step extends Report['step']>(
  child: ChildProcess,
  step: Step,
): Promise<Extract<Report, { step: Step }>> {
  return new Promise((resolve, reject) => {
    const onMessage = (report: Report) => {
      if (report.step !== step) return
      child.off('message', onMessage).off('exit', onExit)
      resolve(report as Extract<Report, { step: Step }>)
    }
    const onExit = () => reject(new Error('the attacker ended'))
    const late = () => reject(new Error(`the attacker did not ${step} within ${longestStepMs / 1_000} s`))
    setTimeout(late, longestStepMs).unref()
    child.on('message', onMessage).once('exit', onExit)
  })
}
