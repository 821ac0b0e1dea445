import { Link } from '@tanstack/react-router'
import type { Video } from '../../../src/wire/videos.ts'
import type { Created } from '../creating.ts'
import { type ModelRow, sidesOf } from '../models.ts'
import { useInStep } from '../parts/in-step.ts'
import { Money } from '../parts/money.tsx'
import { Download, Player } from '../parts/player.tsx'
import { NoPrice } from '../parts/price.tsx'
import { Prose, useReason } from '../parts/prose.tsx'
import { Status } from '../parts/status.tsx'
import { useSpan } from '../parts/time.tsx'
import { Waits } from '../parts/waits.tsx'
import { type Use, uses, whyNot } from '../playground.ts'
import type { Shown } from '../playing.ts'
import { useText } from '../text.tsx'
import { contentPath, fromVideo, isPlayable, isUnfinished } from '../videos.ts'

interface ResultsProps {
  shown: readonly Shown[]
  /** Requests that the service refused. */
  refused: readonly Created[]
  all: readonly ModelRow[]
  onUse(video: Video, use: Use): void
}

/** The videos of the last request: one with its player, or several side by side. */
export function Results({ shown, refused, all, onUse }: ResultsProps) {
  const t = useText()
  const isCompared = shown.length > 1
  const step = useInStep()
  return (
    <section className="results" aria-label={t('play.results')}>
      {shown.length === 0 && refused.length === 0 && <div className="player none">{t('play.nothingYet')}</div>}
      <div className="shots" data-count={shown.length}>
        {shown.map((one) => (
          <Shot key={one.id} shown={one} all={all} attach={isCompared ? step.attach : null} onUse={onUse} />
        ))}
      </div>
      {isCompared && step.length > 0 && <StepControls step={step} />}
      {refused.map(({ model, error }) => (
        <p key={model} className="notice" role="alert">
          <strong>
            <bdi>{model}</bdi>
          </strong>{' '}
          <Prose text={error ?? ''} />
        </p>
      ))}
    </section>
  )
}

/** One pair of controls for all videos of a comparison. */
function StepControls({ step }: { step: ReturnType<typeof useInStep> }) {
  const t = useText()
  const position = t('span.s', { s: step.at.toFixed(1) })
  return (
    <div className="step-controls">
      <button type="button" onClick={() => step.setPlaying(!step.isPlaying)}>
        {step.isPlaying ? t('play.pauseAll') : t('play.playAll')}
      </button>
      <input
        type="range"
        min={0}
        max={step.length}
        step={0.05}
        value={step.at}
        aria-label={t('play.position')}
        aria-valuetext={position}
        onChange={({ target }) => step.seek(Number(target.value))}
      />
      <span className="number">{position}</span>
    </div>
  )
}

interface ShotProps {
  shown: Shown
  all: readonly ModelRow[]
  /** The `ref` of a video that plays in step with others; null if it is alone. */
  attach: ReturnType<typeof useInStep>['attach'] | null
  onUse(video: Video, use: Use): void
}

function Shot({ shown: { id, video, error }, all, attach, onUse }: ShotProps) {
  const t = useText()
  const reason = useReason()
  if (video === null) return <p className="player none">{t('play.deleted')}</p>
  if (!video) return <p className="player none">{error ? reason(error) : t('table.loading')}</p>
  return (
    <article className="shot" aria-label={video.model}>
      <header>
        <strong>
          <bdi>{video.model}</bdi>
        </strong>
        <Status status={video.status} progress={video.progress} />
      </header>
      <Screen video={video} attach={attach} />
      <Outcome video={video} all={all} />
      <Uses video={video} all={all} onUse={onUse} />
      <Link to="/videos/$id" params={{ id }}>
        {t('play.details')}
      </Link>
    </article>
  )
}

/** The video in place, once it can be played. */
function Screen({ video, attach }: { video: Video; attach: ShotProps['attach'] }) {
  const t = useText()
  const row = fromVideo(video)
  const [src, poster] = [contentPath(video.id, false), contentPath(video.id, false, 'thumbnail')]
  if (!isPlayable(row))
    return <div className="player none">{isUnfinished(video) ? <Waiting video={video} /> : t('video.noBytes')}</div>
  if (!attach) return <Player src={src} poster={poster} size={video.size} label={video.prompt} startsAtOnce />
  const { width, height } = sidesOf(video.size)
  return (
    <figure className="player">
      <video
        ref={attach}
        src={src}
        poster={poster}
        width={width}
        height={height}
        aria-label={video.prompt}
        muted
        playsInline
        preload="auto"
      />
      <Download src={src} />
    </figure>
  )
}

/** What it waits for, and how long. */
function Waiting({ video }: { video: Video }) {
  const t = useText()
  const span = useSpan()
  const { status_detail: detail, queue_position: position, eta } = video
  const text = detail ? t(`detail.${detail}`) : t('video.notYet')
  return (
    <p role="status">
      {video.status === 'queued' ? <Waits model={video.model} otherwise={text} /> : text}
      {typeof position === 'number' && <span className="line">{t('play.place', { position })}</span>}
      {typeof eta === 'number' && <span className="line">{t('play.eta', { span: span(eta * 1_000) })}</span>}
    </p>
  )
}

/** Time and price of a finished video; or why it failed. */
function Outcome({ video, all }: { video: Video; all: readonly ModelRow[] }) {
  const t = useText()
  const span = useSpan()
  const { created_at: created, completed_at: completed, usage, error, warnings } = video
  return (
    <>
      {error && (
        <p className="notice" role="status">
          <strong>{error.code}</strong> <Prose text={error.message} />
        </p>
      )}
      {warnings?.map((warning) => (
        <p key={warning} className="notice mild">
          <Prose text={warning} />
        </p>
      ))}
      {!isUnfinished(video) && (
        <p className="outcome">
          {typeof completed === 'number' && (
            <span>{t('play.took', { span: span(Math.max(1, completed - created) * 1_000) })}</span>
          )}
          {usage ? (
            <Money amount={usage.cost} currency={usage.currency} />
          ) : (
            <NoPrice model={all.find(({ id }) => id === video.model)} />
          )}
        </p>
      )}
    </>
  )
}

/** What can be done with it. What can't says why. */
function Uses({ video, all, onUse }: Pick<ShotProps, 'all' | 'onUse'> & { video: Video }) {
  const t = useText()
  const model = all.find(({ id }) => id === video.model)
  const playable = isPlayable(fromVideo(video))
  const refusals = uses.map((use) => ({ use, why: whyNot(use, model, playable) }))
  const reasons = [...new Set(refusals.flatMap(({ why }) => why ?? []))]
  return (
    <div className="actions uses">
      {refusals.map(({ use, why }) => (
        <button
          key={use}
          type="button"
          disabled={why !== null}
          aria-describedby={why === null ? undefined : `${video.id}-${why}`}
          onClick={() => onUse(video, use)}
        >
          {t(`play.use.${use}`)}
        </button>
      ))}
      {reasons.map((why) => (
        <small key={why} id={`${video.id}-${why}`} className="quiet">
          {refusals
            .filter((one) => one.why === why)
            .map(({ use }) => t(`play.use.${use}`))
            .join(', ')}
          {': '}
          {t(`play.whyNot.${why}`, { model: video.model })}
        </small>
      ))}
    </div>
  )
}
