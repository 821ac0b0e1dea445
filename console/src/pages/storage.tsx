import { useQuery } from '@tanstack/react-query'
import type { OperatorStorage } from '../../../src/wire/storage.ts'
import { Facts } from '../parts/facts.tsx'
import { useBytes, useCount, usePercent } from '../parts/number.ts'
import { useReason } from '../parts/prose.tsx'
import { useLocale, useText } from '../text.tsx'

const [hourMs, dayMs] = [3_600_000, 86_400_000]

/** The service reads every stored video for it. */
const rereadMs = 60_000

type Expiry = OperatorStorage['expiries'][number]

/** How many bytes are stored, and when they are removed. */
export function StorageMap() {
  const t = useText()
  const [bytes, percent] = [useBytes(), usePercent()]
  const reason = useReason()
  const { data, error } = useQuery<OperatorStorage>({
    queryKey: ['/operator/v1/storage'],
    staleTime: 30_000,
    refetchInterval: rereadMs,
  })
  // The rest of the overview goes on.
  if (!data) return error && <p className="notice mild">{reason(error)}</p>
  const { stored_bytes: stored, bucket_limit: limit, kept, expiries } = data
  return (
    <section>
      <h2>{t('storage.title')}</h2>
      <Facts
        facts={[
          [t('storage.stored'), bytes(stored)],
          [
            t('storage.limit'),
            limit !== null && (
              <>
                {t('storage.limitOf', { limit: bytes(limit), part: percent(stored / limit) })}{' '}
                <progress max={limit} value={Math.min(stored, limit)} aria-label={t('storage.limit')} />
              </>
            ),
          ],
          [t('storage.kept'), kept.bytes > 0 && t('storage.keptOf', { bytes: bytes(kept.bytes), count: kept.tasks })],
        ]}
      />
      {expiries.length > 0 ? (
        <ExpiryMap expiries={expiries} now={Date.parse(data.at)} />
      ) : (
        <p className="quiet">{t('storage.none')}</p>
      )}
    </section>
  )
}

/** Bars by the time when videos expire, each as high as their bytes; and below them in words. */
function ExpiryMap({ expiries, now }: { expiries: readonly Expiry[]; now: number }) {
  const t = useText()
  const bytes = useBytes()
  const count = useCount()
  const locale = useLocale()
  const { bars, step } = barsOf(expiries, now)
  const most = Math.max(1, ...bars.map((bar) => bar.bytes))
  const width = 1_000 / bars.length
  const hours = step === hourMs ? ({ timeStyle: 'short' } as const) : {}
  const format = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', ...hours })
  const exact = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' })
  const expiring = (since: number, end: number) => {
    const found = expiries.filter(({ from }) => Date.parse(from) >= since && Date.parse(from) < end)
    const videos = found.reduce((all, one) => all + one.videos, 0)
    const size = found.reduce((all, one) => all + one.bytes, 0)
    return t(videos === 1 ? 'storage.oneExpiring' : 'storage.expiring', { bytes: bytes(size), count: count(videos) })
  }
  // The service counts by hours, so each time is the end of one.
  const ends = [hourMs, dayMs, 7 * dayMs].map((ms) => Math.ceil((now + ms) / hourMs) * hourMs)
  return (
    <figure className="expiry">
      <p className="quiet">{t('storage.scale', { bytes: bytes(most) })}</p>
      {/* The list below says the same. */}
      <svg viewBox="0 0 1000 120" preserveAspectRatio="none" aria-hidden="true">
        {bars.map((bar, at) => (
          <rect
            key={bar.from}
            x={at * width}
            y={120 - (bar.bytes / most) * 120}
            width={Math.max(1, width - 2)}
            height={(bar.bytes / most) * 120}
          >
            <title>{`${format.format(bar.from)}: ${bytes(bar.bytes)}`}</title>
          </rect>
        ))}
      </svg>
      <p className="ends quiet" aria-hidden="true">
        <span>{format.format(bars[0]?.from ?? now)}</span>
        <span>{format.format(bars.at(-1)?.from ?? now)}</span>
      </p>
      <figcaption>
        <Facts
          facts={[
            // Each row is a part of the total.
            ...ends.map((end, at) => {
              const name = t(at === 0 ? 'storage.before' : 'storage.between', { time: exact.format(end) })
              return [name, expiring(ends[at - 1] ?? 0, end)] as const
            }),
            [t('storage.later'), expiring(ends.at(-1) ?? 0, Number.POSITIVE_INFINITY)],
            [t('storage.all'), expiring(0, Number.POSITIVE_INFINITY)],
          ]}
        />
      </figcaption>
    </figure>
  )
}

const mostHours = 72

/** Hours if there are few of them, else days, from now to the last one. */
function barsOf(expiries: readonly Expiry[], now: number) {
  const hours = expiries.map(({ from, bytes }) => ({ from: Date.parse(from), bytes }))
  const start = Math.min(now, ...hours.map(({ from }) => from))
  const end = Math.max(now, ...hours.map(({ from }) => from))
  const step = end - start <= mostHours * hourMs ? hourMs : dayMs
  // Days begin at midnight of the reader.
  const offset = new Date(now).getTimezoneOffset() * 60_000
  const first = Math.floor((start - offset) / step) * step + offset
  const bars = Array.from({ length: Math.floor((end - first) / step) + 1 }, (_, at) => ({
    from: first + at * step,
    bytes: 0,
  }))
  for (const { from, bytes } of hours) {
    const bar = bars[Math.floor((from - first) / step)]
    if (bar) bar.bytes += bytes
  }
  return { bars, step }
}
