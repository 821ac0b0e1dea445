import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import { useCallback, useMemo } from 'react'
import { dataOf } from '../api.ts'
import { DailyChart } from '../parts/daily.tsx'
import { Empty } from '../parts/empty.tsx'
import { FilterChoice, Filters } from '../parts/filters.tsx'
import { Head } from '../parts/head.tsx'
import { useAmount } from '../parts/money.tsx'
import { useCount, usePercent } from '../parts/number.ts'
import { columnFor, Table } from '../parts/table.tsx'
import { type Tile, Tiles } from '../parts/tiles.tsx'
import { Amounts, usePricedPart, useUsageColumns } from '../parts/usage.tsx'
import { useMay } from '../session.tsx'
import { useText } from '../text.tsx'
import {
  clientGroupings,
  clientMeasures,
  daysUntilToday,
  distinctOf,
  type Grouping,
  groupings,
  type Measure,
  measures,
  nameOf,
  type Range,
  ranges,
  toLines,
  totalOf,
  type UsageData,
  type UsageFilters,
  type UsageReport,
  usagePath,
  useDays,
} from '../usage.ts'

const route = getRouteApi('/usage')
const rereadMs = 60_000

/** What is shown: the address, with its defaults. */
interface Shown {
  by: Grouping
  measure: Measure
  days: Range
  filters: UsageFilters
  /** The filters of the report, by their names in both APIs. */
  query: Readonly<Record<string, string | undefined>>
}

export function UsagePage() {
  const t = useText()
  const seesAll = useMay()('see all')
  const filters = route.useSearch()
  const shown = toShown(filters, seesAll)
  const { by, query } = shown
  const path = usagePath(seesAll, { ...query, group_by: by })
  const report = useQuery<UsageReport>({ queryKey: [path], staleTime: 30_000, refetchInterval: rereadMs })
  const data = dataOf(report)
  const csv = usagePath(seesAll, { ...query, group_by: `${by},day`, format: 'csv' })
  return (
    <>
      <Head title={t('nav.usage')} about={seesAll ? t('usage.all') : t('usage.own')} />
      <Controls shown={shown} seesAll={seesAll} csv={csv} />
      {data?.data.length === 0 ? (
        <NoUsage isFiltered={groupings.some((name) => filters[name] !== undefined)} />
      ) : (
        <>
          {data && <Totals groups={data.data} seesAll={seesAll} />}
          <Daily shown={shown} seesAll={seesAll} />
          <Groups groups={data && distinctOf(data.data, by)} shown={shown} seesAll={seesAll} />
        </>
      )}
    </>
  )
}

/** A link of an operator may name what a client can't see: then the default is shown. */
function toShown(filters: UsageFilters, seesAll: boolean): Shown {
  const { by = 'model', measure = 'tasks', days = 30, model, token, error_code, project, account } = filters
  const since = daysUntilToday(days)[0]
  return {
    by: seesAll || clientGroupings.includes(by) ? by : 'model',
    measure: seesAll || clientMeasures.includes(measure) ? measure : 'tasks',
    days,
    filters,
    query: { since, model, token, error_code, ...(seesAll && { project, account }) },
  }
}

/** Each is part of the address. */
function Controls({ shown, seesAll, csv }: { shown: Shown; seesAll: boolean; csv: string }) {
  const t = useText()
  const navigate = route.useNavigate()
  const { by, measure, days, filters } = shown
  const set = (change: UsageFilters) => void navigate({ search: { ...filters, ...change }, replace: true })
  return (
    <Filters>
      <FilterChoice
        label={t('usage.by')}
        value={by}
        values={seesAll ? groupings : clientGroupings}
        nameOf={(one) => t(`usage.by.${one}`)}
        onChange={(one) => set({ by: one })}
      />
      <FilterChoice
        label={t('usage.measure')}
        value={measure}
        values={seesAll ? measures : clientMeasures}
        nameOf={(one) => t(`usage.measure.${one}`)}
        onChange={(one) => set({ measure: one })}
      />
      <FilterChoice
        label={t('usage.range')}
        value={days}
        values={ranges}
        nameOf={(one) => t('usage.days', { days: one })}
        onChange={(one) => set({ days: one })}
      />
      <Only filters={filters} seesAll={seesAll} />
      <p className="actions">
        <a href={csv} download="usage.csv" className="button">
          {t('usage.csv')}
        </a>
      </p>
    </Filters>
  )
}

/** The filters that a row of the table has set, each to remove. */
function Only({ filters, seesAll }: { filters: UsageFilters; seesAll: boolean }) {
  const t = useText()
  const set = (seesAll ? groupings : clientGroupings).filter((name) => filters[name] !== undefined)
  if (set.length === 0) return null
  return (
    <p className="actions">
      {set.map((name) => {
        const { [name]: value, ...others } = filters
        return (
          <Link key={name} to="/usage" search={others} className="button">
            {t('usage.only', { name: t(`usage.by.${name}`), value: value ?? '' })}
            <span aria-hidden="true">{' ×'}</span>
            <span className="hidden">{t('usage.remove')}</span>
          </Link>
        )
      })}
    </p>
  )
}

function NoUsage({ isFiltered }: { isFiltered: boolean }) {
  const t = useText()
  return (
    <Empty
      title={t('usage.none')}
      text={isFiltered ? t('videos.noneFoundText') : t('usage.noneText')}
      action={isFiltered ? <Link to="/usage">{t('usage.showAll')}</Link> : <Link to="/videos">{t('nav.videos')}</Link>}
    />
  )
}

function Totals({ groups, seesAll }: { groups: readonly UsageData[]; seesAll: boolean }) {
  const t = useText()
  const [count, percent] = [useCount(), usePercent()]
  const total = totalOf(groups)
  const { tasks, seconds, successRate } = total
  const hint = usePricedPart()(total)
  const tiles: Tile[] = [
    { name: t('usage.measure.tasks'), value: count(tasks) },
    { name: t('usage.success'), value: successRate === null ? '–' : percent(successRate) },
    { name: t('usage.measure.seconds'), value: count(seconds) },
    { name: seesAll ? t('usage.measure.cost') : t('usage.paid'), value: <Amounts total={total} of="cost" />, hint },
  ]
  if (seesAll) tiles.push({ name: t('usage.measure.revenue'), value: <Amounts total={total} of="revenue" />, hint })
  return <Tiles tiles={tiles} />
}

/** The largest groups, by day. */
function Daily({ shown: { by, measure, days, query }, seesAll }: { shown: Shown; seesAll: boolean }) {
  const t = useText()
  const path = usagePath(seesAll, { ...query, group_by: `${by},day` })
  const report = useQuery<UsageReport>({ queryKey: [path], staleTime: 30_000, refetchInterval: rereadMs })
  const { data } = report
  const dates = useDays(days)
  const { lines, currency } = useMemo(
    () => toLines(data?.data ?? [], { by, measure, days: dates }),
    [data, by, measure, dates],
  )
  const series = useMemo(
    () =>
      lines.map(({ key, name, values }, at) => ({
        name: key === null ? t('usage.others') : (name ?? t(`usage.no.${by}`)),
        colour: `--chart-${at + 1}`,
        values,
      })),
    [lines, by, t],
  )
  const format = useFormat(measure, currency)
  const title = t('usage.daily', { measure: t(`usage.measure.${measure}`), by: t(`usage.by.${by}`).toLowerCase() })
  return (
    <DailyChart
      title={title}
      days={days}
      series={series}
      format={format}
      isCount={measure === 'tasks' || measure === 'seconds'}
      // If there are too many groups for each day, the table still has them.
      report={report}
    />
  )
}

function useFormat(measure: Measure, currency: string | null): (value: number) => string {
  const [amount, count] = [useAmount(), useCount()]
  return useCallback(
    (value: number) => (measure === 'cost' || measure === 'revenue' ? amount(value, currency) : count(value)),
    [measure, currency, amount, count],
  )
}

interface GroupsProps {
  groups: readonly UsageData[] | undefined
  shown: Shown
  seesAll: boolean
}

function Groups({ groups, shown, seesAll }: GroupsProps) {
  const t = useText()
  const columns = useColumns(shown, seesAll)
  const { by, measure } = shown
  const rows = useMemo(
    () => groups?.toSorted((a, b) => (b[measure] ?? 0) - (a[measure] ?? 0)).slice(0, mostRows),
    [groups, measure],
  )
  const title = t('usage.table', { by: t(`usage.by.${by}`).toLowerCase() })
  return (
    <section>
      <h2>{title}</h2>
      {groups && groups.length > mostRows && <p className="quiet">{t('usage.most', { count: mostRows })}</p>}
      <Table
        label={title}
        rows={rows}
        columns={columns}
        idOf={(group) => `${group[by]} ${group.currency}`}
        empty={<p className="quiet">{t('usage.noErrors')}</p>}
      />
    </section>
  )
}

/** The file has all of them. */
const mostRows = 100

function useColumns({ by, filters }: Shown, seesAll: boolean): ColumnDef<UsageData>[] {
  const t = useText()
  const measured = useUsageColumns(seesAll)
  return useMemo(() => {
    const next: Grouping = by === 'model' ? 'token' : 'model'
    const name = columnFor<UsageData>()('name', t(`usage.by.${by}`), (group) => {
      const key = group[by] ?? null
      if (key === null) return t(`usage.no.${by}`)
      return (
        <Link to="/usage" search={{ ...filters, [by]: key, by: next }} className="title">
          <bdi>{nameOf(group, by)}</bdi>
        </Link>
      )
    })
    return [name, ...measured]
  }, [t, by, filters, measured])
}
