import { useMemo } from 'react'
import type { OperatorTask } from '../../../src/wire/operator.ts'
import { Prose } from '../parts/prose.tsx'
import { columnFor, Table } from '../parts/table.tsx'
import { Time, useSpan } from '../parts/time.tsx'
import { type Happening, happeningsOf, type Stage, sumsOf } from '../stages.ts'
import { useText } from '../text.tsx'

/** The stages side by side, each as wide as it was long, and below them in words. */
export function Timeline({ stages }: { stages: readonly Stage[] }) {
  const t = useText()
  const span = useSpan()
  const drawn = stages.filter(({ isAside }) => !isAside)
  const [first, last] = [drawn[0]?.from ?? 0, drawn.at(-1)?.until ?? 0]
  const total = Math.max(1, last - first)
  const share = (ms: number) => Math.max(0, (ms / total) * 1_000)
  return (
    <figure className="timeline">
      {/* The list below says the same. */}
      <svg viewBox="0 0 1000 24" preserveAspectRatio="none" aria-hidden="true">
        {drawn.map(({ kind, from, until }) => (
          <rect
            key={`${kind} ${from}`}
            data-kind={kind}
            x={share(from - first)}
            width={Math.max(2, share(until - from))}
            height={24}
          />
        ))}
      </svg>
      <figcaption>
        <ol>
          {sumsOf(stages).map(({ kind, ms, isAside }) => (
            <li key={kind} data-kind={kind}>
              <span>{t(`stage.${kind}`)}</span>
              <span className="number">{isAside ? t('stage.undelivered', { span: span(ms) }) : span(ms)}</span>
            </li>
          ))}
          <li className="sum">
            <span>{t('stage.total')}</span>
            <span className="number">{span(total)}</span>
          </li>
        </ol>
      </figcaption>
    </figure>
  )
}

/** For operators: what went wrong on the way, also while it goes on, with the cause. */
export function Happenings({ task }: { task: OperatorTask }) {
  const t = useText()
  const rows = useMemo(() => happeningsOf(task), [task])
  const column = columnFor<Happening>()
  const columns = [
    column('name', t('happening.name'), ({ name, count }) => (
      <>
        {name.charAt(0).toUpperCase() + name.slice(1)}
        {count > 1 && <small className="line quiet">{t('happening.count', { count })}</small>}
      </>
    )),
    column('why', t('happening.why'), ({ message, why }) => (
      <>
        {message === null ? '–' : <Prose text={message} />}
        {why !== null && (
          <span className="line wraps">
            <Prose text={why} />
          </span>
        )}
      </>
    )),
    column('at', t('happening.at'), ({ last }) => <Time at={last} exact />),
  ]
  if (rows.length === 0) return null
  return (
    <section>
      <h2>{t('video.happened')}</h2>
      <Table label={t('video.happened')} rows={rows} columns={columns} idOf={({ name, first }) => `${name} ${first}`} />
    </section>
  )
}
