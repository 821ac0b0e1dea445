import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import { useMemo } from 'react'
import type { OperatorToken, OperatorTokenWithUse } from '../../../src/wire/tokens.ts'
import { dataOf, type ListPage } from '../api.ts'
import { NotFound } from '../frame/frame.tsx'
import { Budget } from '../parts/budget.tsx'
import { Empty } from '../parts/empty.tsx'
import { Filters, FilterText } from '../parts/filters.tsx'
import { Head } from '../parts/head.tsx'
import { State } from '../parts/status.tsx'
import { columnFor, Table } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { useMay } from '../session.tsx'
import { useText } from '../text.tsx'
import { type TokenFilters, tokenListPath, tokenPath } from '../tokens.ts'
import { type DailyCounts, daysUntilToday, useDailyCounts } from '../usage.ts'

const route = getRouteApi('/tokens')
const days = 14
const rereadMs = 10_000

export function TokensPage() {
  return useMay()('see all') ? <Tokens /> : <NotFound />
}

function Tokens() {
  const t = useText()
  const mayOperate = useMay()('operate')
  const { project, after } = route.useSearch()
  const navigate = route.useNavigate()
  const path = tokenListPath({ ...(project && { project }), ...(after && { after }) })
  const data = dataOf(useQuery<ListPage<OperatorToken>>({ queryKey: [path], refetchInterval: rereadMs }))
  const { counts } = useDailyCounts({ days, ...(project && { project }) })
  const columns = useColumns(counts)
  const own: TokenFilters = project ? { project } : {}
  return (
    <>
      <Head title={t('nav.tokens')} about={t('tokens.about')}>
        {mayOperate && (
          <Link to="/tokens/new" search={own} className="button primary">
            {t('tokens.create')}
          </Link>
        )}
      </Head>
      <ProjectFilter project={project ?? ''} />
      <Table
        label={t('nav.tokens')}
        rows={data?.data}
        columns={columns}
        idOf={({ id }) => id}
        empty={<NoTokens project={project ?? ''} />}
        pages={{
          isFirst: after === undefined,
          hasMore: data?.has_more ?? false,
          toFirst: () => void navigate({ search: own }),
          toNext: () => void navigate({ search: { ...own, ...(data?.last_id && { after: data.last_id }) } }),
        }}
      />
    </>
  )
}

/** Tokens of a project share its videos and its budget. */
function ProjectFilter({ project }: { project: string }) {
  const t = useText()
  const navigate = route.useNavigate()
  const set = (value: string) => void navigate({ search: value ? { project: value } : {}, replace: true })
  return (
    <>
      <Filters>
        <FilterText label={t('tokens.project')} value={project} onChange={set} />
      </Filters>
      {project && (
        <p className="actions">
          <Link to="/tokens">{t('tokens.showAll')}</Link>
          <Link to="/videos" search={{ owner: project }}>
            {t('token.videos')}
          </Link>
          <Link to="/usage" search={{ project }}>
            {t('token.usage')}
          </Link>
        </p>
      )}
    </>
  )
}

function NoTokens({ project }: { project: string }) {
  const t = useText()
  return (
    <Empty
      title={project ? t('tokens.noneFound') : t('tokens.none')}
      text={project ? t('tokens.noneFoundText') : t('tokens.noneText')}
      action={project && <Link to="/tokens">{t('tokens.showAll')}</Link>}
    />
  )
}

function useColumns(counts: DailyCounts): ColumnDef<OperatorToken>[] {
  const t = useText()
  return useMemo(() => {
    const column = columnFor<OperatorToken>()
    return [
      column('name', t('tokens.name'), ({ id, name }) => (
        <>
          <Link to="/tokens/$id" params={{ id }} className="title">
            <bdi>{name}</bdi>
          </Link>
          <small className="quiet code-name">{id}</small>
        </>
      )),
      column('status', t('videos.status'), ({ status }) => <TokenStatus status={status} />),
      column('kind', t('tokens.kind'), (token) => <TokenKind token={token} />),
      column('project', t('tokens.project'), ({ project }) =>
        project === null ? (
          '–'
        ) : (
          <Link to="/tokens" search={{ project }}>
            <bdi>{project}</bdi>
          </Link>
        ),
      ),
      column('models', t('tokens.models'), ({ kind, models }) => (kind === 'client' ? models.join(', ') : '–')),
      column('budget', t('token.budget'), ({ id, spend }) => (spend === null ? '–' : <TokenBudgets id={id} />)),
      column('use', t('tokens.use', { days }), ({ id, kind }) =>
        kind === 'client' ? <Use values={counts.get(id)} /> : '–',
      ),
      column('created', t('videos.created'), ({ created_at: at }) =>
        at === null ? t('tokens.configured') : <Time at={Date.parse(at)} />,
      ),
    ]
  }, [t, counts])
}

/** What is spent is in no list: each token that has a budget is read. */
function TokenBudgets({ id }: { id: string }) {
  const { data } = useQuery<OperatorTokenWithUse>({ queryKey: [tokenPath(id)], refetchInterval: rereadMs })
  return data?.used?.spend.map((spent) => <Budget key={spent.period} spent={spent} />) ?? '–'
}

function Use({ values = noUse }: { values: readonly number[] | undefined }) {
  const t = useText()
  const sum = values.reduce((a, b) => a + b, 0)
  return sum === 0 ? '–' : <Sparkline values={values} label={t('tokens.useOf', { count: sum, days })} />
}

const noUse: readonly number[] = daysUntilToday(days).map(() => 0)

const tones = { active: 'good', disabled: 'wait', expired: 'bad', overridden: 'wait', revoked: 'bad' } as const

export function TokenStatus({ status }: Pick<OperatorToken, 'status'>) {
  const t = useText()
  return <State tone={tones[status]}>{t(`tokens.status.${status}`)}</State>
}

export function TokenKind({ token: { kind, role } }: { token: Pick<OperatorToken, 'kind' | 'role'> }) {
  const t = useText()
  if (kind === 'client') return t('tokens.kind.client')
  return role === 'viewer' ? t('tokens.kind.viewer') : t('tokens.kind.admin')
}

/** The values of some days as a small line, without axes. */
function Sparkline({ values, label }: { values: readonly number[]; label: string }) {
  const most = Math.max(1, ...values)
  const step = 100 / Math.max(1, values.length - 1)
  const points = values.map((value, at) => `${at * step},${23 - (value / most) * 22}`).join(' ')
  return (
    <svg className="sparkline" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label={label}>
      <polyline points={points} />
    </svg>
  )
}
