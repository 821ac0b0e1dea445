import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useAccounts } from '../accounts.ts'
import { useModels } from '../models.ts'
import { useMay } from '../session.tsx'
import { useText } from '../text.tsx'
import { Health } from './health.tsx'

interface WaitsProps {
  model: string
  /** What is shown to others, and if an account works. */
  otherwise: ReactNode
}

/** Why a queued video does not start, for operators: none of the accounts of its model works. */
export function Waits({ model, otherwise }: WaitsProps) {
  return useMay()('see all') ? <StoppedAccounts model={model} otherwise={otherwise} /> : otherwise
}

function StoppedAccounts({ model, otherwise }: WaitsProps) {
  const t = useText()
  const { data: models } = useModels()
  const { data: accounts } = useAccounts()
  const routes = models?.find(({ id }) => id === model)?.operator?.routes ?? []
  const states = routes.flatMap((route) => accounts?.data.find(({ name }) => name === route.account) ?? [])
  const works = states.some(({ mode, health }) => mode === 'active' && health.state === 'ok')
  if (states.length === 0 || works) return otherwise
  return (
    <>
      {t('waits.accounts')}
      {states.map((account) => (
        <span key={account.name} className="line wraps waits">
          <Link to="/providers/$name" params={{ name: account.name }}>
            {account.name}
          </Link>{' '}
          <Health account={account} />
        </span>
      ))}
    </>
  )
}
