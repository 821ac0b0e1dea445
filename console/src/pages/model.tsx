import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { OperatorTaskSummary } from '../../../src/wire/operator.ts'
import type { Video } from '../../../src/wire/videos.ts'
import { call, dataOf, type ListPage, withQuery } from '../api.ts'
import { NotFound } from '../frame/frame.tsx'
import { type ModelRow, type Prices, useModels } from '../models.ts'
import { Code } from '../parts/code.tsx'
import { DailyChart } from '../parts/daily.tsx'
import { Facts } from '../parts/facts.tsx'
import { Head } from '../parts/head.tsx'
import { Money } from '../parts/money.tsx'
import { Player } from '../parts/player.tsx'
import { useSamples } from '../parts/samples.ts'
import { columnFor, Table } from '../parts/table.tsx'
import { useSpan } from '../parts/time.tsx'
import { useConsoleState, useMay } from '../session.tsx'
import { useText } from '../text.tsx'
import { type UsageReport, usagePath, useDays } from '../usage.ts'
import { contentPath, fromTask, fromVideo, isPlayable, type VideoRow } from '../videos.ts'
import { ModelActions } from './model-actions.tsx'
import { Routes } from './model-routes.tsx'

const route = getRouteApi('/models/$')

export function ModelPage() {
  const t = useText()
  const { _splat: wanted = '' } = route.useParams()
  const may = useMay()
  const data = dataOf(useModels())
  const { data: state } = useConsoleState()
  // The router makes one slash of several, and removes the first one: names of engines may be paths.
  const joined = (id: string) => id.replace(/\/+/g, '/').replace(/^\//, '')
  const model = data?.find(({ id }) => id === wanted) ?? data?.find(({ id }) => joined(id) === joined(wanted))
  if (!data) return null
  if (!model) return <NotFound />
  const { id: name, description, alias_of: alias, operator, paused } = model
  return (
    <>
      <Head
        title={name}
        about={alias === undefined ? description : t('models.aliasOf', { model: alias })}
        back={<Link to="/models">{t('nav.models')}</Link>}
      />
      {paused && (
        <p className="notice mild" role="status">
          {t('model.isPaused')}
        </p>
      )}
      {may('operate') && <ModelActions model={model} />}
      <div className="two even">
        <section>
          <h2>{t('model.accepts')}</h2>
          <ModelFacts model={model} />
          {may('create') && (
            <p>
              <Link to="/" search={{ model: [name] }}>
                {t('play.try')}
              </Link>
            </p>
          )}
          <p>
            <Link to="/videos" search={{ model: name }}>
              {t('model.videos')}
            </Link>
          </p>
          {state?.docs && (
            <p>
              <a href={`/docs/models/${encodeURIComponent(name)}`}>{t('model.docs')}</a>
            </p>
          )}
        </section>
        <div className="stack">
          <section>
            <h2>{t('model.sample')}</h2>
            <Sample model={model} />
          </section>
          <NewestVideo model={name} />
        </div>
      </div>
      <Durations model={alias ?? name} />
      <ModelPrices model={model} />
      <Parameters model={model} />
      {operator && <Routes routes={operator.routes} />}
    </>
  )
}

function ModelFacts({ model: { seconds, size, image, makes, facts, owned_by: owner } }: { model: ModelRow }) {
  const t = useText()
  const span = useSpan()
  const lengths = seconds.values?.join(', ') ?? `${seconds.min}–${seconds.max}`
  const sizes = size.values?.map((one) => one.replace('x', '×')).join(', ')
  const range = t('model.sides', {
    least: size.min_side ?? '',
    most: size.max_side ?? '',
    step: size.multiple_of ?? '',
  })
  return (
    <Facts
      facts={[
        [t('models.provider'), owner],
        [t('models.lengths'), t('model.lengths', { lengths, usual: seconds.default })],
        [t('models.sizes'), `${sizes ?? range} (${t('model.usual', { usual: size.default.replace('x', '×') })})`],
        [t('model.image'), t(`model.image.${image}`)],
        [t('model.derives'), makes.length > 0 && makes.map((kind) => t(`models.makes.${kind}`)).join(', ')],
        [t('models.sound'), facts && t(`models.audio.${facts.audio}`)],
        [t('models.time'), facts?.usual_seconds && span(facts.usual_seconds * 1_000)],
        [t('model.failures'), facts && (facts.failures_billed ? t('model.billed') : t('model.notBilled'))],
      ]}
    />
  )
}

const days = 30

/** How long its videos took, by day. */
function Durations({ model }: { model: string }) {
  const t = useText()
  const span = useSpan()
  const seesAll = useMay()('see all')
  const [since] = useDays(days)
  const path = usagePath(seesAll, { group_by: 'day', model, since })
  const report = useQuery<UsageReport>({ queryKey: [path], staleTime: 60_000 })
  const groups = useMemo(() => (report.data?.data ?? []).filter((one) => one.p50_ms !== null), [report.data])
  const times = useMemo(() => groups.map(({ day }) => Date.parse(`${day}T00:00:00Z`)), [groups])
  const series = useMemo(
    () => [
      { name: t('model.p50'), colour: '--accent', values: groups.map(({ p50_ms: ms }) => ms) },
      { name: t('model.p95'), colour: '--warm', values: groups.map(({ p95_ms: ms }) => ms) },
    ],
    [groups, t],
  )
  return (
    <DailyChart
      title={t('model.durations')}
      days={days}
      times={times}
      series={series}
      format={span}
      report={report}
      none={groups.length === 0 && t('model.noDurations', { days })}
    />
  )
}

type PriceLine = Prices['lines'][number]

function ModelPrices({ model: { price, facts } }: { model: ModelRow }) {
  const t = useText()
  const cost = facts?.price
  return (
    <>
      {price && <PriceTable title={t('models.price')} prices={price} />}
      {cost && <PriceTable title={t('models.cost')} about={t('model.priceOf', { date: cost.on })} prices={cost} />}
    </>
  )
}

interface PriceTableProps {
  title: string
  about?: string
  prices: Prices
}

function PriceTable({ title, about, prices: { currency, lines } }: PriceTableProps) {
  const t = useText()
  const conditions = ({ resolution, audio, mode, region }: PriceLine) =>
    [resolution, audio === undefined ? undefined : audio ? t('model.withSound') : t('model.withoutSound'), mode, region]
      .filter((one) => one !== undefined)
      .join(', ') || t('model.always')
  const column = columnFor<PriceLine>()
  const columns = [
    column('when', t('model.when'), (one) => conditions(one)),
    column('price', title, (one) => (
      <span>
        <Money amount={one.price} currency={currency} /> {t(`models.unit.${one.unit}`)}
      </span>
    )),
  ]
  return (
    <section>
      <h2>{title}</h2>
      {about && <p className="quiet">{about}</p>}
      <Table label={title} rows={lines} columns={columns} idOf={(line) => JSON.stringify(line)} />
    </section>
  )
}

function Parameters({ model: { parameters } }: { model: ModelRow }) {
  const t = useText()
  const rows = Object.entries(parameters)
  type Row = (typeof rows)[number]
  const column = columnFor<Row>()
  const columns = [
    column('name', t('model.parameter'), (one) => <code>{one[0]}</code>),
    column('type', t('model.type'), (one) => one[1].type),
    column('values', t('model.values'), (one) => valuesOf(one[1])),
    column('about', t('model.about'), (one) => one[1].description),
  ]
  if (rows.length === 0) return null
  return (
    <section>
      <h2>{t('model.parameters')}</h2>
      <Table label={t('model.parameters')} rows={rows} columns={columns} idOf={([name]) => name} />
    </section>
  )
}

function valuesOf(rule: ModelRow['parameters'][string] | undefined): string {
  if (rule?.enum) return rule.enum.join(', ')
  if (rule?.minimum !== undefined || rule?.maximum !== undefined) return `${rule.minimum ?? ''}–${rule.maximum ?? ''}`
  return '–'
}

/** What the model generates: its newest video that can be played. */
function NewestVideo({ model }: { model: string }) {
  const t = useText()
  const seesAll = useMay()('see all')
  const path = withQuery(seesAll ? '/operator/v1/tasks' : '/v1/videos', { status: 'completed', model, limit: 1 })
  const { data: [row] = [] } = useQuery({
    queryKey: [path],
    staleTime: 60_000,
    async queryFn({ signal }): Promise<VideoRow[]> {
      if (!seesAll) return (await call<ListPage<Video>>(path, { signal })).data.map(fromVideo)
      return (await call<ListPage<OperatorTaskSummary>>(path, { signal })).data.map(fromTask)
    },
  })
  if (!row || !isPlayable(row)) return null
  const { id, prompt, size } = row
  return (
    <section>
      <h2>{t('model.newest')}</h2>
      <Player
        src={contentPath(id, seesAll)}
        poster={contentPath(id, seesAll, 'thumbnail')}
        size={size}
        label={prompt}
      />
      <Link to="/videos/$id" params={{ id }}>
        {prompt}
      </Link>
    </section>
  )
}

function Sample({ model: { id, seconds, size } }: { model: ModelRow }) {
  const t = useText()
  const toSamples = useSamples()
  const body = { model: id, prompt: t('videos.firstPrompt'), seconds: seconds.default, size: size.default }
  return <Code samples={toSamples({ path: '/v1/videos', body })} />
}
