import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import { useCallback, useMemo } from 'react'
import type { OperatorTaskList } from '../../../src/wire/operator.ts'
import type { Video } from '../../../src/wire/videos.ts'
import { afterFailure, call, dataOf, type ListPage } from '../api.ts'
import { type LiveEvent, useLive, withoutEventsMs } from '../live.ts'
import { useModels } from '../models.ts'
import { Code } from '../parts/code.tsx'
import { Empty } from '../parts/empty.tsx'
import { FilterChoice, Filters, FilterText } from '../parts/filters.tsx'
import { Head } from '../parts/head.tsx'
import { AccountLink, Owner } from '../parts/owner.tsx'
import { Picture } from '../parts/picture.tsx'
import { useSamples } from '../parts/samples.ts'
import { Status } from '../parts/status.tsx'
import { columnFor, Table } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { createReread } from '../reread.ts'
import { useMay } from '../session.tsx'
import { useText } from '../text.tsx'
import {
  fromTask,
  fromVideo,
  isUnfinished,
  listPath,
  pageAfter,
  statuses,
  type VideoFilters,
  type VideoRow,
  type VideosOnPage,
} from '../videos.ts'

const route = getRouteApi('/videos')

/** The operator API has no stream of events: its list is read again. A search may read very many rows, so less often. */
const [rereadMs, searchAgainMs] = [3_000, 60_000]
/** Between two reads of a list whose events arrive faster than that. */
const pauseMs = 1_000

export function VideosPage() {
  const t = useText()
  const seesAll = useMay()('see all')
  const filters = route.useSearch()
  const navigate = route.useNavigate()
  const data = dataOf(useVideos(filters, seesAll))
  const columns = useColumns(seesAll)
  const { after, ...conditions } = filters
  const isFiltered = Object.keys(conditions).length > 0
  return (
    <>
      <Head title={t('nav.videos')} about={seesAll ? t('videos.all') : t('videos.own')} />
      <VideoChoices filters={filters} seesAll={seesAll} />
      <Table
        label={t('nav.videos')}
        rows={data?.rows}
        columns={columns}
        idOf={({ id }) => id}
        empty={
          data?.hasMore ? (
            <Empty title={t('videos.noneSoFar')} text={t('videos.noneSoFarText')} />
          ) : isFiltered || after ? (
            <Empty
              title={t('videos.noneFound')}
              text={t('videos.noneFoundText')}
              action={<Link to="/videos">{t('videos.showAll')}</Link>}
            />
          ) : (
            <FirstVideo />
          )
        }
        pages={{
          isFirst: after === undefined,
          hasMore: data?.hasMore ?? false,
          toFirst: () => void navigate({ search: conditions }),
          toNext: () => void navigate({ search: { ...conditions, ...(data?.lastId && { after: data.lastId }) } }),
        }}
      />
    </>
  )
}

function useVideos(filters: VideoFilters, seesAll: boolean) {
  const queries = useQueryClient()
  const path = listPath(filters, seesAll)
  const isFirstOfAll = Object.keys(filters).length === 0
  const onReset = useMemo(
    () => createReread(() => queries.invalidateQueries({ queryKey: [path] }), pauseMs),
    [queries, path],
  )
  const onVideo = useCallback(
    (event: LiveEvent) => {
      const page = queries.getQueryData<VideosOnPage>([path])
      const next = page ? pageAfter(event, page, filters) : 'reread'
      if (next !== 'reread') queries.setQueryData([path], next)
      // What is being read may be older than the event, and would replace the row.
      const isReading = event.name !== 'progress' && queries.isFetching({ queryKey: [path] }) > 0
      if (next === 'reread' || isReading) onReset()
    },
    [queries, path, onReset, filters],
  )
  useLive({ onVideo, onReset }, !seesAll)
  return useQuery<VideosOnPage>({
    queryKey: [path],
    refetchInterval: (query) => {
      if (seesAll) return isFirstOfAll ? rereadMs : searchAgainMs
      // New videos are on the first page.
      const mayChange = filters.after === undefined || query.state.data?.rows.some(isUnfinished)
      return mayChange ? withoutEventsMs : afterFailure(query)
    },
    async queryFn({ signal }) {
      if (!seesAll) {
        const page = await call<ListPage<Video>>(path, { signal })
        return { rows: page.data.map(fromVideo), hasMore: page.has_more, lastId: page.last_id }
      }
      const page = await call<OperatorTaskList>(path, { signal })
      return { rows: page.data.map(fromTask), hasMore: page.has_more, lastId: page.last_id }
    },
  })
}

/** A change begins at the first page. */
function VideoChoices({ filters, seesAll }: { filters: VideoFilters; seesAll: boolean }) {
  const t = useText()
  const navigate = route.useNavigate()
  const { data: models = [] } = useModels()
  const set = (name: keyof VideoFilters, value: string) => {
    const { after: _, [name]: __, ...others } = filters
    void navigate({ search: { ...others, ...(value && { [name]: value }) }, replace: true })
  }
  // A model of the address may no longer exist.
  const names = new Set([...models.map(({ id }) => id), ...(filters.model ? [filters.model] : [])])
  return (
    <Filters>
      <FilterChoice
        label={t('videos.status')}
        value={filters.status ?? ''}
        values={['', ...statuses]}
        nameOf={(one) => (one === '' ? t('filter.any') : t(`status.${one}`))}
        onChange={(one) => set('status', one)}
      />
      <FilterChoice
        label={t('videos.model')}
        value={filters.model ?? ''}
        values={['', ...names]}
        nameOf={(one) => one || t('filter.any')}
        onChange={(one) => set('model', one)}
      />
      {seesAll &&
        (['owner', 'account', 'error_code', 'text', 'from', 'until', 'token'] as const)
          // Another page links to the videos of a token, so its id is never typed.
          .filter((name) => name !== 'token' || filters.token)
          .map((name) => (
            <FilterText
              key={name}
              label={t(`videos.${name}`)}
              value={filters[name] ?? ''}
              type={name === 'from' || name === 'until' ? 'date' : 'text'}
              onChange={(text) => set(name, text)}
            />
          ))}
    </Filters>
  )
}

function useColumns(seesAll: boolean): ColumnDef<VideoRow>[] {
  const t = useText()
  return useMemo(() => {
    const column = columnFor<VideoRow>()
    return [
      column('picture', '', (row) => <Picture row={row} seesAll={seesAll} />),
      column('prompt', t('videos.prompt'), ({ id, prompt }) => (
        <Link to="/videos/$id" params={{ id }} className="title">
          <bdi>{prompt}</bdi>
        </Link>
      )),
      column('status', t('videos.status'), ({ status, progress, error }) => (
        <>
          <Status status={status} progress={progress} />
          {error && <ErrorCode code={error.code} seesAll={seesAll} />}
        </>
      )),
      column('model', t('videos.model'), ({ model }) => (
        <Link to="/models/$" params={{ _splat: model }}>
          <bdi>{model}</bdi>
        </Link>
      )),
      ...(seesAll ? [column('owner', t('videos.owner'), ({ owner }) => <Owner owner={owner ?? ''} />)] : []),
      ...(seesAll
        ? [column('account', t('videos.account'), ({ account }) => (account ? <AccountLink name={account} /> : '–'))]
        : []),
      column('length', t('videos.length'), ({ seconds, size }) => (
        <span className="number">
          {t('span.s', { s: seconds })} · {size.replace('x', '×')}
        </span>
      )),
      column('created', t('videos.created'), ({ createdAt }) => <Time at={createdAt} />),
    ]
  }, [t, seesAll])
}

/** Leads an operator to the videos with the same error. */
function ErrorCode({ code, seesAll }: { code: string; seesAll: boolean }) {
  return (
    <small className="quiet code-name">
      {seesAll ? (
        <Link to="/videos" search={{ error_code: code }}>
          {code}
        </Link>
      ) : (
        code
      )}
    </small>
  )
}

/** Nothing was created yet: how to. */
function FirstVideo() {
  const t = useText()
  const { data: [model] = [] } = useModels()
  const toSamples = useSamples()
  const body = { model: model?.id ?? 'studio', prompt: t('videos.firstPrompt') }
  return (
    <Empty
      title={t('videos.none')}
      text={t('videos.noneText')}
      action={<Code samples={toSamples({ path: '/v1/videos', body })} />}
    />
  )
}
