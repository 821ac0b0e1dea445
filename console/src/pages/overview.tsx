import { getRouteApi, Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import { useMemo } from 'react'
import type { OperatorStatus } from '../../../src/wire/alarms.ts'
import { dataOf } from '../api.ts'
import { NotFound } from '../frame/frame.tsx'
import { type RangeName, rangeNames, useTrend, useUsage, usualRange } from '../overview.ts'
import { AlarmName } from '../parts/alarm.tsx'
import { Empty } from '../parts/empty.tsx'
import { FilterChoice, Filters } from '../parts/filters.tsx'
import { Head } from '../parts/head.tsx'
import { Health } from '../parts/health.tsx'
import { useCount, usePercent } from '../parts/number.ts'
import { Slots } from '../parts/slots.tsx'
import { columnFor, Table } from '../parts/table.tsx'
import { type Tile, Tiles } from '../parts/tiles.tsx'
import { Time, useSpan } from '../parts/time.tsx'
import { Amounts, usePricedPart, useUsageColumns } from '../parts/usage.tsx'
import { useMay } from '../session.tsx'
import { useStatus } from '../status.ts'
import { useText } from '../text.tsx'
import type { UsageData, UsageTotal } from '../usage.ts'
import { StorageMap } from './storage.tsx'
import { Trends } from './trends.tsx'

const route = getRouteApi('/overview')

export function OverviewPage() {
  return useMay()('see all') ? <Overview /> : <NotFound />
}

function Overview() {
  const t = useText()
  const { range = usualRange } = route.useSearch()
  const status = dataOf(useStatus())
  const { trend, total } = useTrend(range)
  return (
    <>
      <Head title={t('nav.overview')} about={t('overview.about')} />
      {status && <Now status={status} />}
      <RangeChoice range={range} />
      {total && <Ended total={total} />}
      {total && total.tasks === 0 ? (
        <Empty
          title={t('overview.none')}
          text={t('overview.noneText')}
          action={<Link to="/videos">{t('nav.videos')}</Link>}
        />
      ) : (
        trend && <Trends trend={trend} range={range} />
      )}
      {total !== undefined && total.tasks > 0 && <ByModel range={range} />}
      {status && <Queues status={status} />}
      {status && <Accounts status={status} />}
      <StorageMap />
    </>
  )
}

/** What is wrong, and how many tasks are in each state. */
function Now({ status: { health, alarms, tasks, processes } }: { status: OperatorStatus }) {
  const t = useText()
  const count = useCount()
  const shown = (number: number | undefined) => (number === undefined ? '–' : count(number))
  const tiles: Tile[] = [
    {
      name: t('overview.queued'),
      value: shown(tasks?.queued),
      hint: (
        <Link to="/videos" search={{ status: 'queued' }}>
          {t('overview.show')}
        </Link>
      ),
    },
    {
      name: t('overview.running'),
      value: shown(tasks?.running),
      hint: (
        <Link to="/videos" search={{ status: 'in_progress' }}>
          {t('overview.show')}
        </Link>
      ),
    },
    {
      name: t('overview.held'),
      value: shown(tasks?.held),
      hint: <Link to="/money-at-risk">{t('overview.heldText')}</Link>,
    },
    { name: t('overview.fetching'), value: shown(tasks?.fetching), hint: t('overview.fetchingText') },
    { name: t('overview.storing'), value: shown(tasks?.storing), hint: t('overview.storingText') },
    { name: t('overview.processes'), value: count(processes.length), hint: t('overview.processesText') },
  ]
  return (
    <>
      {health.status !== 'ok' && (
        <p className="notice" role="status">
          <strong>{t(`overview.health.${health.status}`)}</strong> {health.reason}
        </p>
      )}
      <ActiveAlarms alarms={alarms} />
      <section>
        <h2>{t('overview.now')}</h2>
        <Tiles tiles={tiles} />
      </section>
    </>
  )
}

const mostAlarms = 5

function ActiveAlarms({ alarms }: Pick<OperatorStatus, 'alarms'>) {
  const t = useText()
  if (alarms.length === 0) return <p className="quiet">{t('alarms.none')}</p>
  return (
    <section aria-label={t('alarms.show.active')}>
      <ul className="alarms">
        {alarms.slice(0, mostAlarms).map((alarm) => (
          <li key={alarm.id}>
            <AlarmName alarm={alarm} />
            <span className="quiet">
              <Time at={Date.parse(alarm.raised_at)} />
            </span>
          </li>
        ))}
      </ul>
      <Link to="/alarms">{t('overview.allAlarms', { count: alarms.length })}</Link>
    </section>
  )
}

function RangeChoice({ range }: { range: RangeName }) {
  const t = useText()
  const navigate = route.useNavigate()
  return (
    <Filters>
      <FilterChoice
        label={t('overview.range')}
        value={range}
        values={rangeNames}
        nameOf={(name) => t(`overview.range.${name}`)}
        onChange={(name) => void navigate({ search: name === usualRange ? {} : { range: name }, replace: true })}
      />
    </Filters>
  )
}

/** The range in a few numbers. */
function Ended({ total }: { total: UsageTotal }) {
  const t = useText()
  const [count, percent] = [useCount(), usePercent()]
  const { completed, failed, successRate } = total
  const part = usePricedPart()(total)
  const hint = (text: string) => (part === null ? text : `${text}, ${part}`)
  return (
    <Tiles
      tiles={[
        { name: t('status.completed'), value: count(completed) },
        {
          name: t('status.failed'),
          value: count(failed),
          isBad: failed > 0,
          hint: failed > 0 && (
            <Link to="/usage" search={{ by: 'error_code' }}>
              {t('overview.errors')}
            </Link>
          ),
        },
        { name: t('usage.success'), value: successRate === null ? '–' : percent(successRate) },
        {
          name: t('usage.measure.cost'),
          value: <Amounts total={total} of="cost" />,
          hint: hint(t('overview.costText')),
        },
        {
          name: t('usage.measure.revenue'),
          value: <Amounts total={total} of="revenue" />,
          hint: hint(t('overview.revenueText')),
        },
      ]}
    />
  )
}

function ByModel({ range }: { range: RangeName }) {
  const t = useText()
  const { data } = useUsage(range, 'model')
  const columns = useModelColumns()
  return (
    <section>
      <h2>{t('overview.byModel')}</h2>
      <Table
        label={t('overview.byModel')}
        rows={data?.data}
        columns={columns}
        idOf={({ model, currency }) => `${model} ${currency}`}
      />
    </section>
  )
}

function useModelColumns(): ColumnDef<UsageData>[] {
  const t = useText()
  const measured = useUsageColumns(true)
  return useMemo(() => {
    const model = columnFor<UsageData>()('model', t('videos.model'), ({ model = '' }) => (
      <Link to="/models/$" params={{ _splat: model }}>
        {model}
      </Link>
    ))
    return [model, ...measured]
  }, [t, measured])
}

function Queues({ status: { queues } }: { status: OperatorStatus }) {
  const t = useText()
  const span = useSpan()
  type Row = OperatorStatus['queues'][number]
  const column = columnFor<Row>()
  const columns = [
    column('model', t('videos.model'), (one) => (
      <Link to="/videos" search={{ status: 'queued', model: one.model }}>
        {one.model}
      </Link>
    )),
    column('age', t('overview.age'), (one) => span(one.age_seconds * 1_000)),
  ]
  return (
    <section>
      <h2>{t('overview.queues')}</h2>
      <Table
        label={t('overview.queues')}
        rows={queues}
        columns={columns}
        idOf={({ model }) => model}
        empty={<p className="quiet">{t('overview.noQueue')}</p>}
      />
    </section>
  )
}

function Accounts({ status: { accounts } }: { status: OperatorStatus }) {
  const t = useText()
  type Row = OperatorStatus['accounts'][number]
  const column = columnFor<Row>()
  const columns = [
    column('account', t('videos.account'), (one) => (
      <Link to="/providers/$name" params={{ name: one.name }} className="title">
        {one.name}
      </Link>
    )),
    column('provider', t('models.provider'), (one) => one.provider),
    column('slots', t('provider.slots'), (one) => <Slots used={one.used_slots} all={one.slots} />),
    column('health', t('provider.health'), (one) => <Health account={one} />),
  ]
  return (
    <section>
      <h2>{t('overview.accounts')}</h2>
      <Table
        label={t('overview.accounts')}
        rows={accounts}
        columns={columns}
        idOf={({ name }) => name}
        empty={<p className="quiet">{t('overview.noAccounts')}</p>}
      />
    </section>
  )
}
