import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import { useMemo } from 'react'
import type { AuditEntry } from '../../../src/wire/audit.ts'
import { dataOf, type ListPage } from '../api.ts'
import { auditFile, auditPath, changesOf } from '../audit.ts'
import { NotFound } from '../frame/frame.tsx'
import { Empty } from '../parts/empty.tsx'
import { Head } from '../parts/head.tsx'
import { columnFor, Table } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { useMay } from '../session.tsx'
import { rereadMs } from '../status.ts'
import { useText } from '../text.tsx'

const route = getRouteApi('/audit')

export function AuditPage() {
  return useMay()('see all') ? <Audit /> : <NotFound />
}

function Audit() {
  const t = useText()
  const place = route.useSearch()
  const navigate = route.useNavigate()
  const columns = useColumns()
  const data = dataOf(
    useQuery<ListPage<AuditEntry>>({
      queryKey: [auditPath(place)],
      // Entries never change: only the first page does.
      refetchInterval: place.after === undefined ? rereadMs : false,
    }),
  )
  return (
    <>
      <Head title={t('nav.audit')} about={t('audit.about')}>
        <Export />
      </Head>
      <Table
        label={t('nav.audit')}
        rows={data?.data}
        columns={columns}
        idOf={({ id }) => id}
        empty={<Empty title={t('audit.none')} text={t('audit.noneText')} />}
        pages={{
          isFirst: place.after === undefined,
          hasMore: data?.has_more ?? false,
          toFirst: () => void navigate({ search: {} }),
          toNext: () => void navigate({ search: data?.last_id ? { after: Number(data.last_id) } : {} }),
        }}
      />
    </>
  )
}

const formats = ['csv', 'jsonl'] as const

/** The whole log as a file, which the browser saves while the service sends it. */
function Export() {
  const t = useText()
  const name = `filmgate-audit-${new Date().toISOString().slice(0, 10)}`
  return (
    <div className="actions">
      {formats.map((format) => (
        <a key={format} href={auditFile(format)} download={`${name}.${format}`} className="button">
          {t(`audit.${format}`)}
        </a>
      ))}
    </div>
  )
}

function useColumns(): ColumnDef<AuditEntry>[] {
  const t = useText()
  return useMemo(() => {
    const column = columnFor<AuditEntry>()
    return [
      column('action', t('audit.action'), ({ action, target }) => (
        <>
          <code>{action}</code>
          <small>
            <Target id={target} />
          </small>
        </>
      )),
      column('changes', t('audit.changes'), (entry) => <Changes entry={entry} />),
      column('who', t('audit.who'), ({ actor_name: name, address }) => (
        <>
          {name}
          <small className="quiet">{address}</small>
        </>
      )),
      column('at', t('audit.at'), ({ at }) => <Time at={Date.parse(at)} exact />),
    ]
  }, [t])
}

/** What was changed, where it has a page. */
function Target({ id }: { id: string }) {
  if (id.startsWith('video_'))
    return (
      <Link to="/videos/$id" params={{ id }} className="code-name">
        {id}
      </Link>
    )
  if (id.startsWith('tok_'))
    return (
      <Link to="/tokens/$id" params={{ id }} className="code-name">
        {id}
      </Link>
    )
  return <code>{id}</code>
}

/** Only what is not the same before and after. */
function Changes({ entry }: { entry: AuditEntry }) {
  const t = useText()
  const changes = changesOf(entry)
  if (changes.length === 0) return '–'
  return (
    <ul className="changes">
      {changes.map(({ name, before, after }) => (
        <li key={name}>
          <span className="quiet">{name}</span>{' '}
          {before !== null && (
            <del>
              <span className="hidden">{t('audit.before')} </span>
              {before}
            </del>
          )}{' '}
          {after !== null && (
            <ins>
              <span className="hidden">{t('audit.after')} </span>
              {after}
            </ins>
          )}
        </li>
      ))}
    </ul>
  )
}
