import { Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import { useMemo } from 'react'
import { dataOf } from '../api.ts'
import { type ModelRow, type Prices, useModels } from '../models.ts'
import { Empty } from '../parts/empty.tsx'
import { Head } from '../parts/head.tsx'
import { Money } from '../parts/money.tsx'
import { columnFor, Table } from '../parts/table.tsx'
import { useSpan } from '../parts/time.tsx'
import { useText } from '../text.tsx'

/** The list of models of the specification: lengths, sizes, inputs, sound, price and usual time. */
export function ModelsPage() {
  const t = useText()
  const data = dataOf(useModels())
  const columns = useColumns(data)
  return (
    <>
      <Head title={t('nav.models')} about={t('models.about')} />
      <Table
        label={t('nav.models')}
        rows={data}
        columns={columns}
        idOf={({ id }) => id}
        empty={<Empty title={t('models.none')} text={t('models.noneText')} />}
      />
    </>
  )
}

function useColumns(models: readonly ModelRow[] | undefined): ColumnDef<ModelRow>[] {
  const t = useText()
  const span = useSpan()
  const hasPrices = models?.some(({ price }) => price !== null) ?? false
  const hasCosts = models?.some(({ facts }) => facts?.price) ?? false
  return useMemo(() => {
    const column = columnFor<ModelRow>()
    return [
      column('model', t('videos.model'), ({ id, description, alias_of: alias, paused }) => (
        <>
          <Link to="/models/$" params={{ _splat: id }} className="title">
            {id}
          </Link>
          <small className="quiet">{alias === undefined ? description : t('models.aliasOf', { model: alias })}</small>
          {paused && <small className="wrong">{t('models.paused')}</small>}
        </>
      )),
      column('provider', t('models.provider'), ({ owned_by: owner }) => owner),
      column('lengths', t('models.lengths'), ({ seconds }) => (
        <span className="number">
          {seconds.values ? seconds.values.join(', ') : `${seconds.min}–${seconds.max}`} {t('models.seconds')}
        </span>
      )),
      column('sizes', t('models.sizes'), ({ size }) => <span className="number">{sizesOf(size)}</span>),
      column('inputs', t('models.inputs'), ({ image, makes }) => (
        <span className="tags">
          <span>{t('models.text')}</span>
          {image !== 'none' && <span>{t(`models.image.${image}`)}</span>}
          {makes.map((kind) => (
            <span key={kind}>{t(`models.makes.${kind}`)}</span>
          ))}
        </span>
      )),
      column('sound', t('models.sound'), ({ facts }) => (facts ? t(`models.audio.${facts.audio}`) : '–')),
      ...(hasPrices ? [column('price', t('models.price'), ({ price }) => <Price prices={price} />)] : []),
      ...(hasCosts ? [column('cost', t('models.cost'), ({ facts }) => <Price prices={facts?.price} />)] : []),
      column('time', t('models.time'), ({ facts }) =>
        facts?.usual_seconds ? <span className="number">{span(facts.usual_seconds * 1_000)}</span> : '–',
      ),
    ]
  }, [t, span, hasPrices, hasCosts])
}

/** The resolutions, if the sizes have names; else the sizes, or their range. */
function sizesOf({ values, shapes, min_side: least, max_side: most }: ModelRow['size']): string {
  if (!values) return `${least}–${most} px`
  const named = [...new Set(values.flatMap((size) => shapes?.[size]?.resolution ?? []))]
  return (named.length > 0 ? named : values.map((size) => size.replace('x', '×'))).slice(0, 4).join(', ')
}

/** The lowest price of each unit. */
function Price({ prices }: { prices: Prices | null | undefined }) {
  const t = useText()
  if (!prices) return '–'
  const { currency, lines } = prices
  const byUnit = Map.groupBy(lines, ({ unit }) => unit)
  return [...byUnit].map(([unit, ones]) => {
    const [lowest] = ones.map(({ price }) => price).toSorted((one, other) => Number(one) - Number(other))
    return (
      <span key={unit} className="line">
        {ones.length > 1 && `${t('models.from')} `}
        {lowest && <Money amount={lowest} currency={currency} />} {t(`models.unit.${unit}`)}
      </span>
    )
  })
}
