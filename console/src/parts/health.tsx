import type { OperatorAccount } from '../../../src/wire/accounts.ts'
import { useText } from '../text.tsx'
import { State } from './status.tsx'
import { Time } from './time.tsx'

const tones = {
  ...({ ok: 'good', unused: 'wait', unproven: 'wait', recovering: 'busy' } as const),
  ...({ resting: 'bad', draining: 'wait', paused: 'wait' } as const),
}
type AccountState = keyof typeof tones

/** What an operator decided comes before what was measured. Without a response so far, it is not known whether it works. */
function stateOf({ mode, health }: Pick<OperatorAccount, 'mode' | 'health'>): AccountState {
  if (mode !== 'active') return mode
  if (health.state === 'ok' && !health.has_worked) return health.failures === 0 ? 'unused' : 'unproven'
  return health.state === 'paused' ? 'resting' : health.state
}

/** Whether an account gets tasks, and why not. */
export function Health({ account }: { account: Pick<OperatorAccount, 'mode' | 'health'> }) {
  const t = useText()
  const state = stateOf(account)
  const { reason, paused_until: until } = account.health
  return (
    <>
      <State tone={tones[state]}>{t(`health.${state}`)}</State>
      {reason !== null && <small className="quiet">{t(`health.reason.${reason}`)}</small>}
      {until !== null && (
        <small className="quiet">
          {t('health.next')} <Time at={Date.parse(until)} />
        </small>
      )}
    </>
  )
}
