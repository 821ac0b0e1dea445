import { useMutation, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import { useMemo } from 'react'
import { type AlarmRow, alarmStatuses, useAlarms } from '../alarms.ts'
import { call } from '../api.ts'
import { NotFound } from '../frame/frame.tsx'
import { AlarmName } from '../parts/alarm.tsx'
import { Empty } from '../parts/empty.tsx'
import { FilterChoice, Filters } from '../parts/filters.tsx'
import { Head } from '../parts/head.tsx'
import { Failure, Prose } from '../parts/prose.tsx'
import { columnFor, Table } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { useMay } from '../session.tsx'
import { useText } from '../text.tsx'

const route = getRouteApi('/alarms')

export function AlarmsPage() {
  return useMay()('see all') ? <Alarms /> : <NotFound />
}

function Alarms() {
  const t = useText()
  const filters = route.useSearch()
  const navigate = route.useNavigate()
  const { rows, hasMore, lastId } = useAlarms(filters)
  const columns = useColumns()
  const { status = 'active', after } = filters
  const kept = filters.status ? { status: filters.status } : {}
  return (
    <>
      <Head title={t('nav.alarms')} about={t('alarms.about')} />
      <Filters>
        <FilterChoice
          label={t('alarms.show')}
          value={status}
          values={alarmStatuses}
          nameOf={(one) => t(`alarms.show.${one}`)}
          onChange={(one) => void navigate({ search: one === 'active' ? {} : { status: one }, replace: true })}
        />
      </Filters>
      <Table
        label={t('nav.alarms')}
        rows={rows}
        columns={columns}
        idOf={({ id }) => id}
        empty={<NoAlarms isActive={status === 'active' && after === undefined} />}
        pages={{
          isFirst: after === undefined,
          hasMore,
          toFirst: () => void navigate({ search: kept }),
          toNext: () => void navigate({ search: { ...kept, ...(lastId && { after: lastId }) } }),
        }}
      />
    </>
  )
}

function NoAlarms({ isActive }: { isActive: boolean }) {
  const t = useText()
  if (!isActive) return <Empty title={t('alarms.noneFound')} text={t('alarms.noneFoundText')} />
  const action = (
    <Link to="/settings" search={{ text: 'alarm' }}>
      {t('alarms.receivers')}
    </Link>
  )
  return <Empty title={t('alarms.none')} text={t('alarms.noneText')} action={action} />
}

function useColumns(): ColumnDef<AlarmRow>[] {
  const t = useText()
  const mayOperate = useMay()('operate')
  return useMemo(() => {
    const column = columnFor<AlarmRow>()
    return [
      column('alarm', t('alarms.alarm'), (alarm) => <Explained alarm={alarm} />),
      column('raised', t('alarms.raised'), ({ raised_at: at }) => <Time at={Date.parse(at)} />),
      column('seen', t('alarms.seen'), ({ last_seen: at, count }) => (
        <>
          <Time at={Date.parse(at)} />
          <small className="quiet">{t('alarms.count', { count })}</small>
        </>
      )),
      column('state', t('alarms.state'), (alarm) => <AlarmState alarm={alarm} mayOperate={mayOperate} />),
    ]
  }, [t, mayOperate])
}

/** The alarm with its cause, what to do, and what else is known. */
function Explained({ alarm }: { alarm: AlarmRow }) {
  const t = useText()
  const details = Object.entries(alarm.details)
  return (
    <div className="explained">
      <AlarmName alarm={alarm} />
      <p>{t(`alarmCause.${alarm.kind}`)}</p>
      <p>
        <strong>{t('alarms.firstAid')}</strong> <Prose text={alarm.first_aid} />
      </p>
      {details.length > 0 && (
        <p className="quiet code-name">{details.map(([name, value]) => `${name}: ${value}`).join(' · ')}</p>
      )}
      <p className="quiet">
        {t('alarms.runbook')} <code>{alarm.runbook}</code>
      </p>
    </div>
  )
}

function AlarmState({ alarm, mayOperate }: { alarm: AlarmRow; mayOperate: boolean }) {
  const t = useText()
  const { acknowledged_by: by, acknowledged_at: at, cleared_at: clearedAt, isStored } = alarm
  const mayAcknowledge = mayOperate && isStored && by === null && clearedAt === null
  return (
    <>
      {clearedAt !== null && (
        <span className="line">
          {t('alarms.cleared')} <Time at={Date.parse(clearedAt)} />
        </span>
      )}
      {by !== null && (
        <small>
          {t('alarms.acknowledgedBy', { name: by })} {at !== null && <Time at={Date.parse(at)} />}
        </small>
      )}
      {mayAcknowledge && <Acknowledge alarm={alarm} />}
      {!mayAcknowledge && by === null && clearedAt === null && <span className="quiet">{t('alarms.active')}</span>}
    </>
  )
}

function Acknowledge({ alarm: { id, subject } }: { alarm: AlarmRow }) {
  const t = useText()
  const queries = useQueryClient()
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => call(`/operator/v1/alarms/${encodeURIComponent(id)}/acknowledge`, { method: 'POST' }),
    onSuccess: () =>
      queries.invalidateQueries({
        predicate: ({ queryKey }) => /^\/operator\/v1\/(alarms|status)/.test(String(queryKey[0])),
      }),
  })
  return (
    <>
      <button type="button" disabled={isPending} onClick={() => mutate()}>
        {t('alarms.acknowledge')}
        <span className="hidden"> {subject}</span>
      </button>
      <Failure error={error} />
    </>
  )
}
