import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import type { OperatorTokenWithSecret, OperatorTokenWithUse } from '../../../src/wire/tokens.ts'
import { call, dataOf, isNotFound } from '../api.ts'
import { allows, isSpent, type Period } from '../budget.ts'
import { NotFound } from '../frame/frame.tsx'
import { type NextVideo, useNextVideo } from '../next-video.ts'
import { Budget, Resets } from '../parts/budget.tsx'
import { Copy } from '../parts/code.tsx'
import { DailyChart } from '../parts/daily.tsx'
import { Confirm } from '../parts/dialog.tsx'
import { Facts } from '../parts/facts.tsx'
import { Select } from '../parts/field.tsx'
import { Head } from '../parts/head.tsx'
import { useAmount } from '../parts/money.tsx'
import { useBytes, useCount } from '../parts/number.ts'
import { Failure } from '../parts/prose.tsx'
import { Time } from '../parts/time.tsx'
import { useMay, useSession } from '../session.tsx'
import { useText } from '../text.tsx'
import { isOfTokens, tokenPath, toTokenChange, toTokenValues } from '../tokens.ts'
import { useDailyCounts } from '../usage.ts'
import { IssuedSecret } from './new-token.tsx'
import { TokenForm } from './token-form.tsx'
import { TokenKind, TokenStatus } from './tokens.tsx'

const route = getRouteApi('/tokens/$id')
const rereadMs = 5_000

export function TokenPage() {
  return useMay()('see all') ? <KnownToken /> : <NotFound />
}

function KnownToken() {
  const { id } = route.useParams()
  const result = useQuery<OperatorTokenWithUse>({ queryKey: [tokenPath(id)], refetchInterval: rereadMs })
  if (isNotFound(result.error)) return <NotFound />
  const data = dataOf(result)
  return data ? <Details token={data} /> : null
}

function Details({ token }: { token: OperatorTokenWithUse }) {
  const t = useText()
  const [issued, setIssued] = useState<OperatorTokenWithSecret | null>(null)
  const [isChanging, setChanging] = useState(false)
  const { id, name, status } = token
  const nextVideo = useNextVideo(token)
  const next = status === 'active' ? nextVideo : undefined
  return (
    <>
      <Head
        title={name}
        back={<Link to="/tokens">{t('nav.tokens')}</Link>}
        state={
          <>
            <TokenStatus status={status} />
            <code>{id}</code>
            <Copy text={id} />
          </>
        }
      >
        <Actions token={token} onIssue={setIssued} onChange={() => setChanging(true)} />
      </Head>
      {issued && <IssuedSecret key={issued.secret} token={issued} />}
      <Notices token={token} next={next} />
      {isChanging ? (
        <Change token={token} onEnd={() => setChanging(false)} />
      ) : (
        <div className="two even">
          <section>
            <h2>{t('token.settings')}</h2>
            <TokenFacts token={token} />
          </section>
          {token.kind === 'client' && <Use token={token} next={next} />}
        </div>
      )}
      {token.kind === 'client' && <Days id={id} />}
    </>
  )
}

interface ActionsProps {
  token: OperatorTokenWithUse
  onIssue(token: OperatorTokenWithSecret): void
  onChange(): void
}

/** A token of the configuration can't be changed here, and a revoked one nowhere. */
function Actions({ token, onIssue, onChange }: ActionsProps) {
  const t = useText()
  const mayOperate = useMay()('operate')
  const isOwn = useIsOwn(token)
  const queries = useQueryClient()
  const reread = () => queries.invalidateQueries({ predicate: isOfTokens })
  const path = tokenPath(token.id)
  const { mutate, isPending, error } = useMutation({
    mutationFn: (enabled: boolean) => call(path, { method: 'POST', body: { enabled } }),
    onSuccess: reread,
  })
  if (!mayOperate || token.source === 'config' || token.status === 'revoked') return null
  return (
    <>
      <div className="actions">
        <button type="button" onClick={onChange}>
          {t('token.change')}
        </button>
        {!isOwn && (
          <button type="button" disabled={isPending} onClick={() => mutate(!token.enabled)}>
            {token.enabled ? t('token.disable') : t('token.enable')}
          </button>
        )}
        <Rotate path={path} isOwn={isOwn} onIssue={onIssue} onEnd={reread} />
        {!isOwn && (
          <Confirm
            action={t('token.revoke')}
            title={t('token.revokeTitle', { name: token.name })}
            text={t('token.revokeText')}
            onConfirm={async () => {
              await call(`${path}/revoke`, { method: 'POST' })
              await reread()
            }}
          />
        )}
      </div>
      {isOwn && <p className="quiet">{t('token.own')}</p>}
      <Failure error={error} />
    </>
  )
}

/** Without its token this session ends at once, and a new secret with it: names are unique among tokens in use. */
function useIsOwn({ kind, name, status }: OperatorTokenWithUse): boolean {
  const session = useSession()
  return session.kind === 'operator' && kind === 'operator' && status === 'active' && session.name === name
}

const overlaps = { now: 0, hour: 3_600, day: 86_400, week: 604_800 } as const
type Overlap = keyof typeof overlaps

interface RotateProps extends Pick<ActionsProps, 'onIssue'> {
  path: string
  isOwn: boolean
  onEnd(): Promise<unknown>
}

function Rotate({ path, isOwn, onIssue, onEnd }: RotateProps) {
  const t = useText()
  const [overlap, setOverlap] = useState<Overlap>('day')
  const offered = (Object.keys(overlaps) as Overlap[]).filter((one) => !(isOwn && one === 'now'))
  return (
    <Confirm
      action={t('token.rotate')}
      isHarmless
      title={t('token.rotateTitle')}
      text={t('token.rotateText')}
      onConfirm={async () => {
        const body = { overlap_seconds: overlaps[overlap] }
        onIssue(await call<OperatorTokenWithSecret>(`${path}/rotate`, { method: 'POST', body }))
        await onEnd()
      }}
    >
      <Select
        label={t('token.overlap')}
        value={overlap}
        options={offered.map((one) => ({ value: one, label: t(`token.overlap.${one}`) }))}
        onChange={({ target }) => setOverlap(offered.find((one) => one === target.value) ?? 'day')}
      />
    </Confirm>
  )
}

interface TokenProps {
  token: OperatorTokenWithUse
  next: NextVideo | undefined
}

/** What keeps the token from working, and until when. */
function Notices({ token: { source, status, used, old_secret_until: oldUntil }, next }: TokenProps) {
  const t = useText()
  const format = useAmount()
  // A token that is not in use creates no videos, whatever is left of its budget.
  const budgets = status === 'active' ? (used?.spend ?? []) : []
  return (
    <>
      {status === 'overridden' && <p className="notice mild">{t('token.overridden')}</p>}
      {source === 'config' && <p className="notice mild">{t('token.configured')}</p>}
      {budgets.filter(isSpent).map((spent) => (
        <p key={spent.period} className="notice" role="status">
          {t(`token.spent.${spent.period as Period}`)}
          <Resets spent={spent} />
        </p>
      ))}
      {next &&
        budgets
          .filter((spent) => !isSpent(spent) && !allows(spent, next.cost))
          .map((spent) => (
            <p key={spent.period} className="notice" role="status">
              {t(`token.short.${spent.period as Period}`, {
                model: next.model,
                cost: format(next.cost, next.currency),
                left: format(Number(spent.limit) - Number(spent.amount), spent.currency),
              })}
              <Resets spent={spent} />
            </p>
          ))}
      {oldUntil !== null && (
        <p className="notice mild">
          {t('token.oldSecret')} <Time at={Date.parse(oldUntil)} exact />
        </p>
      )}
    </>
  )
}

function TokenFacts({ token }: { token: OperatorTokenWithUse }) {
  const t = useText()
  const { kind, project, owner, models, rate, concurrency, queued, ip_ranges: ranges } = token
  const { stored_bytes: bytes, metadata } = token
  const limit = (value: number | null) => (value === null ? t('token.usual') : value === 0 ? t('token.noLimit') : value)
  const isClient = kind === 'client'
  const at = (text: string | null) => text !== null && <Time at={Date.parse(text)} exact />
  return (
    <Facts
      facts={[
        [t('tokens.kind'), <TokenKind key="k" token={token} />],
        [
          t('tokens.project'),
          project !== null && (
            <Link key="p" to="/tokens" search={{ project }}>
              <bdi>{project}</bdi>
            </Link>
          ),
        ],
        [t('token.owner'), isClient && owner !== project && owner !== token.id && <bdi key="o">{owner}</bdi>],
        [t('tokens.models'), isClient && models.join(', ')],
        [t('token.rate'), isClient && limit(rate)],
        [t('token.concurrency'), isClient && (concurrency ?? t('token.noLimit'))],
        [t('token.queued'), isClient && limit(queued)],
        [t('token.gigabytes'), isClient && limit(bytes === null ? null : bytes / 1e9)],
        [t('token.addresses'), ranges?.join(', ') ?? t('token.allAddresses')],
        [t('token.expires'), at(token.expires_at) || t('token.never')],
        [t('videos.created'), at(token.created_at)],
        [t('token.changed'), at(token.changed_at)],
        [t('token.revoked'), at(token.revoked_at)],
        ...Object.entries(metadata ?? {}).map(([name, value]) => [t('token.metadata', { name }), value] as const),
      ]}
    />
  )
}

function Use({ token: { id, used }, next }: TokenProps) {
  const t = useText()
  const bytes = useBytes()
  return (
    <section>
      <h2>{t('token.used')}</h2>
      {used === null && <p className="quiet">{t('token.useUnknown')}</p>}
      {used?.spend.map((spent) => (
        <Budget key={spent.period} spent={spent} next={next} />
      ))}
      {used?.spend.length === 0 && <p className="quiet">{t('token.noBudget')}</p>}
      {used && (
        <Facts
          facts={[
            [t('token.waiting'), used.more_queued ? t('token.moreThan', { count: used.queued }) : used.queued],
            [t('token.stored'), bytes(used.stored_bytes)],
          ]}
        />
      )}
      <p className="actions">
        <Link to="/videos" search={{ token: id }}>
          {t('token.videos')}
        </Link>
        <Link to="/usage" search={{ token: id }}>
          {t('token.usage')}
        </Link>
      </p>
    </section>
  )
}

const days = 30

/** How many of its videos ended, by day. */
function Days({ id }: { id: string }) {
  const t = useText()
  const format = useCount()
  const { counts, report } = useDailyCounts({ days, token: id })
  const values = counts.get(id)
  const series = useMemo(
    () => [{ name: t('usage.measure.tasks'), colour: '--chart-1', values: values ?? [] }],
    [values, t],
  )
  return (
    <DailyChart
      title={t('token.days', { days })}
      days={days}
      series={series}
      format={format}
      isCount
      report={report}
      none={!values && t('token.noVideos', { days })}
    />
  )
}

function Change({ token, onEnd }: { token: OperatorTokenWithUse; onEnd: () => void }) {
  const t = useText()
  const queries = useQueryClient()
  // As it was when the form was opened: the page goes on reading it.
  const [before] = useState(() => toTokenValues(token))
  return (
    <TokenForm
      values={before}
      isNew={false}
      action={t('token.save')}
      onSubmit={async (values) => {
        const body = toTokenChange(before, values)
        if (Object.keys(body).length > 0) await call(tokenPath(token.id), { method: 'POST', body })
        await queries.invalidateQueries({ predicate: isOfTokens })
        onEnd()
      }}
    >
      <button type="button" onClick={onEnd}>
        {t('dialog.cancel')}
      </button>
    </TokenForm>
  )
}
