import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import { useMemo, useState } from 'react'
import type { WebhookDelivery } from '../../../src/wire/webhooks.ts'
import { call, dataOf, type ListPage } from '../api.ts'
import { Confirm } from '../parts/dialog.tsx'
import { Select } from '../parts/field.tsx'
import { FilterChoice, Filters } from '../parts/filters.tsx'
import { Failure } from '../parts/prose.tsx'
import { State } from '../parts/status.tsx'
import { columnFor, Table } from '../parts/table.tsx'
import { Time, useSpan } from '../parts/time.tsx'
import { useText } from '../text.tsx'
import { type DeliveryFilters, deliveriesPath, deliveryStates, endpointPath, isOfWebhooks } from '../webhooks.ts'

const route = getRouteApi('/webhooks/$id')
const rereadMs = 3_000

interface DeliveriesProps {
  id: string
  /** To a disabled endpoint nothing is sent, and nothing again. */
  isEnabled: boolean
}

/** What was sent to an endpoint, with every try. */
export function Deliveries({ id, isEnabled }: DeliveriesProps) {
  const t = useText()
  const filters = route.useSearch()
  const navigate = route.useNavigate()
  const path = deliveriesPath(id, filters)
  const data = dataOf(useQuery<ListPage<WebhookDelivery>>({ queryKey: [path], refetchInterval: rereadMs }))
  const columns = useColumns(id, isEnabled)
  const { after, ...conditions } = filters
  const set = (search: DeliveryFilters) => void navigate({ search })
  return (
    <section>
      <h2>{t('webhook.deliveries')}</h2>
      <Filters>
        <FilterChoice
          label={t('videos.status')}
          value={filters.state ?? ''}
          values={['', ...deliveryStates]}
          nameOf={(one) => (one === '' ? t('filter.any') : t(`delivery.${one}`))}
          onChange={(state) => set(state === '' ? {} : { state })}
        />
        {isEnabled && <ReplayFailed id={id} />}
      </Filters>
      <Table
        label={t('webhook.deliveries')}
        rows={data?.data}
        columns={columns}
        idOf={(delivery) => delivery.id}
        empty={<p className="quiet pad">{filters.state ? t('webhook.noneFound') : t('webhook.noDeliveries')}</p>}
        pages={{
          isFirst: after === undefined,
          hasMore: data?.has_more ?? false,
          toFirst: () => set(conditions),
          toNext: () => set({ ...conditions, ...(data?.last_id && { after: data.last_id }) }),
        }}
      />
    </section>
  )
}

const tones = { pending: 'wait', delivered: 'good', failed: 'bad' } as const

function useColumns(id: string, isEnabled: boolean): ColumnDef<WebhookDelivery>[] {
  const t = useText()
  return useMemo(() => {
    const column = columnFor<WebhookDelivery>()
    return [
      column('event', t('webhook.event'), ({ event_type: type }) => type),
      column('video', t('palette.video'), ({ video_id: video }) => (
        <Link to="/videos/$id" params={{ id: video }} className="code-name" title={video}>
          {`${video.slice(0, 18)}…`}
        </Link>
      )),
      column('status', t('videos.status'), ({ state, next_try_at: next }) => (
        <>
          <State tone={tones[state]}>{t(`delivery.${state}`)}</State>
          {next !== null && (
            <small className="quiet">
              {t('delivery.next')} <Time at={next * 1_000} />
            </small>
          )}
        </>
      )),
      column('tries', t('delivery.tries'), (delivery) => <Tries delivery={delivery} />),
      column('created', t('delivery.at'), ({ created_at: at }) => <Time at={at * 1_000} />),
      ...(isEnabled ? [column('replay', '', (delivery) => <Replay endpoint={id} delivery={delivery} />)] : []),
    ]
  }, [t, id, isEnabled])
}

/** The last try at once, all of them on demand. */
function Tries({ delivery: { tries } }: { delivery: WebhookDelivery }) {
  const t = useText()
  const span = useSpan()
  const last = tries.at(-1)
  if (!last) return '–'
  const result = ({ status_code: status, error }: WebhookDelivery['tries'][number]) => status ?? error ?? '–'
  return (
    <details>
      <summary>{t('delivery.last', { count: tries.length, result: result(last) })}</summary>
      <ol>
        {tries.map((one, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: tries are only ever added at the end.
          <li key={at}>
            {result(one)}
            {' · '}
            <span className="number">{span(one.took_ms)}</span>
            {' · '}
            <Time at={one.at * 1_000} exact />
          </li>
        ))}
      </ol>
    </details>
  )
}

function Replay({ endpoint, delivery }: { endpoint: string; delivery: WebhookDelivery }) {
  const t = useText()
  const queries = useQueryClient()
  const { mutate, isPending, error } = useMutation({
    mutationFn: () =>
      call(`${endpointPath(endpoint)}/deliveries/${encodeURIComponent(delivery.id)}/replay`, { method: 'POST' }),
    onSuccess: () => queries.invalidateQueries({ predicate: isOfWebhooks }),
  })
  return (
    <>
      <button type="button" disabled={isPending} onClick={() => mutate()}>
        {t('delivery.replay')}
        <span className="hidden">{delivery.video_id}</span>
      </button>
      <Failure error={error} />
    </>
  )
}

const ages = { hour: 3_600, day: 86_400, week: 604_800 } as const
type Age = keyof typeof ages

/** After a receiver was repaired: everything that it missed. */
function ReplayFailed({ id }: { id: string }) {
  const t = useText()
  const queries = useQueryClient()
  const [age, setAge] = useState<Age>('day')
  const [replayed, setReplayed] = useState<number | null>(null)
  const offered = Object.keys(ages) as Age[]
  return (
    <div className="actions">
      <Confirm
        action={t('webhook.replayFailed')}
        isHarmless
        title={t('webhook.replayTitle')}
        text={t('webhook.replayText')}
        onConfirm={async () => {
          const body = { since: Math.floor(Date.now() / 1_000) - ages[age] }
          const sent = await call<{ replayed: number }>(`${endpointPath(id)}/replay`, { method: 'POST', body })
          setReplayed(sent.replayed)
          await queries.invalidateQueries({ predicate: isOfWebhooks })
        }}
      >
        <Select
          label={t('webhook.since')}
          value={age}
          options={offered.map((one) => ({ value: one, label: t(`webhook.since.${one}`) }))}
          onChange={({ target }) => setAge(offered.find((one) => one === target.value) ?? 'day')}
        />
      </Confirm>
      <span role="status">{replayed !== null && t('webhook.replayed', { count: replayed })}</span>
    </div>
  )
}
