import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useCallback } from 'react'
import type { OperatorTask } from '../../../src/wire/operator.ts'
import type { Video, VideoOutput } from '../../../src/wire/videos.ts'
import { afterFailure, call, dataOf, isNotFound, overtake } from '../api.ts'
import { NotFound } from '../frame/frame.tsx'
import { type LiveEvent, useLive, withoutEventsMs } from '../live.ts'
import { Code, Copy } from '../parts/code.tsx'
import { Confirm } from '../parts/dialog.tsx'
import { Empty } from '../parts/empty.tsx'
import { Facts } from '../parts/facts.tsx'
import { Head } from '../parts/head.tsx'
import { Money } from '../parts/money.tsx'
import { useBytes } from '../parts/number.ts'
import { AccountLink, Owner } from '../parts/owner.tsx'
import { Player } from '../parts/player.tsx'
import { Prose } from '../parts/prose.tsx'
import { useSamples } from '../parts/samples.ts'
import { Status } from '../parts/status.tsx'
import { Time, useSpan } from '../parts/time.tsx'
import { Waits } from '../parts/waits.tsx'
import { derivationOf } from '../playground.ts'
import { isVideoId } from '../search.ts'
import { useMay, useSession } from '../session.tsx'
import { happeningsOf, stagesOf } from '../stages.ts'
import { useText } from '../text.tsx'
import { contentPath, fromTask, fromVideo, isPlayable, isUnfinished, type VideoRow } from '../videos.ts'
import { Happenings, Timeline } from './timeline.tsx'
import { Attempts, Entries } from './video-ledger.tsx'

const route = getRouteApi('/videos/$id')
/** A video of an operator's page moves by itself, or is deleted elsewhere: the operator API has no stream of events. */
const [rereadMs, restMs] = [1_500, 5_000]

/** One video; an operator also sees what only operators know. */
interface VideoDetails {
  row: VideoRow
  output: VideoOutput | null
  warnings: readonly string[]
  cost: { cost: number; currency: string } | null
  /** The video that it is derived from. The API reports neither how, nor what an extension extends. */
  source: { kind: NonNullable<OperatorTask['source']>['kind'] | null; video: string | null } | null
  /** Known to clients alone: operators see the events. */
  waitsFor: Video['status_detail'] | null
  task: OperatorTask | null
}

export function VideoPage() {
  const { id } = route.useParams()
  return isVideoId(id) ? <KnownVideo id={id} /> : <NotFound />
}

function KnownVideo({ id }: { id: string }) {
  const seesAll = useMay()('see all')
  const result = useVideo(id, seesAll)
  const isGone = isNotFound(result.error)
  if (result.data === null || (isGone && result.data)) return <Gone />
  if (isGone) return <NotFound />
  const data = dataOf(result)
  return data ? <Details {...data} seesAll={seesAll} /> : null
}

/** It was deleted while it was shown. */
function Gone() {
  const t = useText()
  return (
    <Empty
      title={t('video.gone')}
      text={t('video.goneText')}
      action={<Link to="/videos">{t('videos.showAll')}</Link>}
    />
  )
}

function useVideo(id: string, seesAll: boolean) {
  const queries = useQueryClient()
  const path = seesAll ? `/operator/v1/tasks/${encodeURIComponent(id)}` : `/v1/videos/${encodeURIComponent(id)}`
  const onReset = useCallback(() => void queries.invalidateQueries({ queryKey: [path] }), [queries, path])
  const onVideo = useCallback(
    ({ video }: LiveEvent) => {
      if (video.id === id) void overtake([path], video.object === 'video' ? shownVideo(video) : null)
    },
    [path, id],
  )
  useLive({ onVideo, onReset }, !seesAll)
  return useQuery<VideoDetails | null>({
    queryKey: [path],
    refetchInterval: (query) => {
      const { data, error } = query.state
      if (!data || isNotFound(error)) return false
      if (!seesAll) return isUnfinished(data.row) ? withoutEventsMs : afterFailure(query)
      return isMoving(data) ? rereadMs : restMs
    },
    queryFn: async ({ signal }) =>
      seesAll ? shownTask(await call<OperatorTask>(path, { signal })) : shownVideo(await call<Video>(path, { signal })),
  })
}

function isMoving({ row, task }: VideoDetails): boolean {
  return isUnfinished(row) || (task?.deliveries.some(({ state }) => state === 'pending') ?? false)
}

function shownVideo(video: Video): VideoDetails {
  const {
    output = null,
    warnings,
    usage = null,
    remixed_from_video_id: original,
    status_detail: waitsFor = null,
  } = video
  const source = original ? { kind: null, video: original } : null
  return { row: fromVideo(video), output, warnings: warnings ?? [], cost: usage, source, waitsFor, task: null }
}

function shownTask(task: OperatorTask): VideoDetails {
  const { output, warnings, source } = task
  return { row: fromTask(task), output, warnings, cost: null, source, waitsFor: null, task }
}

function Details({ seesAll, ...details }: VideoDetails & { seesAll: boolean }) {
  const { row, warnings, source, task } = details
  const t = useText()
  const stages = stagesOf(row, task)
  return (
    <>
      <Head
        title={row.prompt}
        back={<Link to="/videos">{t('nav.videos')}</Link>}
        state={
          <>
            <Status status={row.status} progress={row.progress} />
            <code>{row.id}</code>
            <Copy text={row.id} />
          </>
        }
      />
      {row.error && (
        <p className="notice" role="status">
          <strong>{row.error.code}</strong> <Prose text={row.error.message} />
          {task && <Why task={task} />}
        </p>
      )}
      {warnings.map((warning) => (
        <p key={warning} className="notice mild">
          <Prose text={warning} />
        </p>
      ))}
      <div className="two">
        {isPlayable(row) ? (
          <Player
            src={contentPath(row.id, seesAll)}
            poster={contentPath(row.id, seesAll, 'thumbnail')}
            size={row.size}
            label={row.prompt}
          />
        ) : (
          <div className="player none">{isUnfinished(row) ? <Unfinished {...details} /> : t('video.noBytes')}</div>
        )}
        <section>
          <VideoFacts {...details} />
          <Actions row={row} />
        </section>
      </div>
      {stages.length > 0 && (
        <section>
          <h2>{t('video.timeline')}</h2>
          <Timeline stages={stages} />
        </section>
      )}
      {task && <Happenings task={task} />}
      {task && <Attempts task={task} />}
      {task && <Entries task={task} />}
      <RequestAgain row={row} source={source} task={task} />
    </>
  )
}

/** For operators: the cause of the failure, and what to do about it. */
function Why({ task }: { task: OperatorTask }) {
  const why = happeningsOf(task).findLast((one) => one.why !== null)?.why
  return why ? (
    <span className="line wraps">
      <Prose text={why} />
    </span>
  ) : null
}

/** In place of the video: what it waits for. */
function Unfinished({ row, waitsFor }: Pick<VideoDetails, 'row' | 'waitsFor'>) {
  const t = useText()
  const text = waitsFor ? t(`detail.${waitsFor}`) : t('video.notYet')
  return <p role="status">{row.status === 'queued' ? <Waits model={row.model} otherwise={text} /> : text}</p>
}

function VideoFacts({ row, output, cost, source }: VideoDetails) {
  const t = useText()
  const [span, bytes] = [useSpan(), useBytes()]
  const size = output && `${output.width}×${output.height}`
  return (
    <Facts
      facts={[
        [
          t('videos.model'),
          <Link key="m" to="/models/$" params={{ _splat: row.model }}>
            {row.model}
          </Link>,
        ],
        [
          source?.kind ? t(`play.original.${source.kind}`) : t('video.derived'),
          source?.video && (
            <Link key="s" to="/videos/$id" params={{ id: source.video }} className="code-name">
              {source.video}
            </Link>
          ),
        ],
        [t('videos.length'), output ? span(output.duration * 1_000) : t('span.s', { s: row.seconds })],
        [t('video.size'), size ?? row.size.replace('x', '×')],
        [
          t('video.codec'),
          output && t('video.codecOf', { codec: output.codec, rate: Number(output.frame_rate.toFixed(2)) }),
        ],
        [t('video.bytes'), output && bytes(output.bytes)],
        [t('video.cost'), cost && <Money key="c" amount={cost.cost} currency={cost.currency} />],
        [t('videos.owner'), row.owner !== null && <Owner key="o" owner={row.owner} />],
        [t('videos.account'), row.account !== null && <AccountLink key="a" name={row.account} />],
        [t('videos.created'), <Time key="t" at={row.createdAt} exact />],
        [t('video.completed'), row.completedAt !== null && <Time at={row.completedAt} exact />],
        [t('video.expires'), row.expiresAt !== null && <Time at={row.expiresAt} />],
      ]}
    />
  )
}

/** Only its owner can repeat or delete a video, through the public API. The session of an admin may have the owner's token. */
function Actions({ row }: { row: VideoRow }) {
  const t = useText()
  const { client } = useSession()
  const navigate = useNavigate()
  const queries = useQueryClient()
  if (!client || (row.owner !== null && row.owner !== client.owner)) return null
  const isRunning = isUnfinished(row)
  return (
    <div className="actions">
      <Link to="/" search={{ from: row.id, use: 'again' }} className="button">
        {t('play.use.again')}
      </Link>
      <Confirm
        action={isRunning ? t('video.cancel') : t('video.delete')}
        title={isRunning ? t('video.cancelTitle') : t('video.deleteTitle')}
        text={t('video.deleteText')}
        onConfirm={async () => {
          await call(`/v1/videos/${encodeURIComponent(row.id)}`, { method: 'DELETE' })
          // The lists that were read before still have it.
          queries.removeQueries({ predicate: ({ queryKey: [path] }) => isListOfVideos(String(path)) })
          await navigate({ to: '/videos' })
        }}
      />
    </div>
  )
}

function isListOfVideos(path: string): boolean {
  return path.startsWith('/v1/videos?') || path.startsWith('/operator/v1/tasks?')
}

/** Nothing is shown if the original is not known, as without it the request is another one. */
function RequestAgain({ row, source, task }: Pick<VideoDetails, 'row' | 'source' | 'task'>) {
  const t = useText()
  const toSamples = useSamples()
  const { model, prompt } = row
  const { seconds, size } = task ?? row
  const parameters = task?.parameters ?? {}
  if (source && !(source.kind && source.video)) return null
  const { path, body } =
    source?.kind && source.video
      ? derivationOf({ how: source.kind, id: source.video }, { prompt, seconds, parameters })
      : { path: '/v1/videos', body: { model, prompt, seconds, size, ...parameters } }
  const samples = toSamples({ path, body }, task?.has_image ? 'image.png' : null)
  return (
    <section>
      <h2>{t('video.request')}</h2>
      <Code samples={{ ...samples, JSON: JSON.stringify(body, null, 2) }} />
    </section>
  )
}
