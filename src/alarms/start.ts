import type { AlarmQueue } from './local.ts'
import { type LookOptions, startAlarmLook } from './look.ts'
import { type PushOptions, startAlarmPush } from './push.ts'

interface AlarmOptions extends Omit<LookOptions, 'checks'>, Omit<PushOptions, 'queues' | 'onChange'> {
  store: LookOptions['store'] & AlarmQueue
  readiness(keepMs: number): Promise<unknown>
  /** Throws if the disk has too little free space. */
  checkSpace(): Promise<unknown>
  stored: { checkAll(): Promise<unknown> }
  upstreams: { check(): void }
}

/** Looks for alarms, and sends them if there is a receiver. */
export function startAlarms(options: AlarmOptions): AsyncDisposable {
  const { alarms, store, receivers, readiness, checkSpace, stored, upstreams } = options
  // The result is not kept: `/readyz` would report it for 5 seconds after an outage began.
  const checks = [() => readiness(0), () => quietly(checkSpace), () => quietly(stored.checkAll), upstreams.check]
  const push = { ...options, queues: [alarms.local, store], onChange: alarms.onChange }
  const works = [startAlarmLook({ ...options, checks })]
  if (receivers.webhook !== null || receivers.slack !== null) works.push(startAlarmPush(push))
  return {
    async [Symbol.asyncDispose]() {
      await Promise.all(works.map((work) => work[Symbol.asyncDispose]()))
    },
  }
}

/** The check raises its alarm itself. */
async function quietly(check: () => Promise<unknown>): Promise<void> {
  await check().catch(() => {})
}
