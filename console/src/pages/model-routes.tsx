import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { OperatorAccount } from '../../../src/wire/accounts.ts'
import { useAccounts } from '../accounts.ts'
import type { ModelRow } from '../models.ts'
import { Health } from '../parts/health.tsx'
import { columnFor, Table } from '../parts/table.tsx'
import { useText } from '../text.tsx'

type Route = NonNullable<ModelRow['operator']>['routes'][number]

interface RouteRow extends Route {
  /** Undefined for an account of another process. */
  state: OperatorAccount | undefined
}

/** The accounts that generate the videos of a model, those that are tried first at the top, and whether each works. */
export function Routes({ routes }: { routes: readonly Route[] }) {
  const t = useText()
  const { data: accounts } = useAccounts()
  const rows = useMemo(
    () =>
      routes
        .map((route): RouteRow => ({ ...route, state: accounts?.data.find(({ name }) => name === route.account) }))
        .toSorted((one, other) => one.priority - other.priority),
    [routes, accounts],
  )
  const column = columnFor<RouteRow>()
  const columns = [
    column('account', t('videos.account'), (one) => (
      <Link to="/providers/$name" params={{ name: one.account }} className="title">
        {one.account}
      </Link>
    )),
    column('health', t('provider.health'), (one) => (one.state ? <Health account={one.state} /> : '–')),
    column('upstream', t('attempt.model'), (one) => <code>{one.upstream_model}</code>),
    column('priority', t('route.priority'), (one) => one.priority),
    column('weight', t('route.weight'), (one) => one.weight),
  ]
  return (
    <section>
      <h2>{t('model.routes')}</h2>
      <Table
        label={t('model.routes')}
        rows={rows}
        columns={columns}
        idOf={({ account, upstream_model: model }) => `${account} ${model}`}
      />
    </section>
  )
}
