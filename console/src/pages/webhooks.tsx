import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import { useMemo } from 'react'
import type { WebhookEndpoint } from '../../../src/wire/webhooks.ts'
import { dataOf, withQuery } from '../api.ts'
import { NotFound } from '../frame/frame.tsx'
import { Empty } from '../parts/empty.tsx'
import { Head } from '../parts/head.tsx'
import { State } from '../parts/status.tsx'
import { columnFor, Table } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { useMay, useSession } from '../session.tsx'
import { useText } from '../text.tsx'
import { endpointsPath } from '../webhooks.ts'

const rereadMs = 10_000

/** Endpoints belong to a client token: an operator without one has none. */
export function WebhooksPage() {
  return useMay()('create') ? <Endpoints /> : <NotFound />
}

function Endpoints() {
  const t = useText()
  const { kind, client } = useSession()
  const columns = useColumns()
  // A token has up to 16 of them: they fit into one page.
  const path = withQuery(endpointsPath, { limit: 100 })
  const data = dataOf(useQuery<{ data: readonly WebhookEndpoint[] }>({ queryKey: [path], refetchInterval: rereadMs }))
  const create = (
    <Link to="/webhooks/new" className="button primary">
      {t('webhooks.create')}
    </Link>
  )
  return (
    <>
      <Head
        title={t('nav.webhooks')}
        about={kind === 'operator' && client ? t('webhooks.ofToken', { name: client.name }) : t('webhooks.about')}
      >
        {data && data.data.length > 0 && create}
      </Head>
      <Table
        label={t('nav.webhooks')}
        rows={data?.data}
        columns={columns}
        idOf={({ id }) => id}
        empty={<Empty title={t('webhooks.none')} text={t('webhooks.noneText')} action={create} />}
      />
    </>
  )
}

function useColumns(): ColumnDef<WebhookEndpoint>[] {
  const t = useText()
  return useMemo(() => {
    const column = columnFor<WebhookEndpoint>()
    return [
      column('name', t('webhooks.name'), ({ id, name, url }) => (
        <>
          <Link to="/webhooks/$id" params={{ id }} className="title">
            {name}
          </Link>
          <small className="quiet code-name">{url}</small>
        </>
      )),
      column('status', t('videos.status'), (endpoint) => <EndpointState endpoint={endpoint} />),
      column('events', t('webhooks.events'), ({ event_types: types }) => types.join(', ')),
      column('created', t('videos.created'), ({ created_at: at }) => <Time at={at * 1_000} />),
    ]
  }, [t])
}

export function EndpointState({ endpoint: { disabled_at: at } }: { endpoint: Pick<WebhookEndpoint, 'disabled_at'> }) {
  const t = useText()
  return at === null ? (
    <State tone="good">{t('webhooks.enabled')}</State>
  ) : (
    <State tone="bad">{t('webhooks.disabled')}</State>
  )
}
