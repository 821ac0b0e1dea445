import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useEffect, useMemo, useState } from 'react'
import type { OperatorAccount, OperatorAccountTest } from '../../../src/wire/accounts.ts'
import { accountPath, isAboutAccount, rereadRoutes } from '../accounts.ts'
import { call, dataOf, isNotFound } from '../api.ts'
import { changedIn } from '../changes.ts'
import { NotFound } from '../frame/frame.tsx'
import { useModels } from '../models.ts'
import { AlarmNotices } from '../parts/alarm.tsx'
import { DailyChart } from '../parts/daily.tsx'
import { Confirm } from '../parts/dialog.tsx'
import { Facts } from '../parts/facts.tsx'
import { Field } from '../parts/field.tsx'
import { FormDialog, typedIn } from '../parts/form-dialog.tsx'
import { Head } from '../parts/head.tsx'
import { Health } from '../parts/health.tsx'
import { usePercent } from '../parts/number.ts'
import { Failure } from '../parts/prose.tsx'
import { Slots } from '../parts/slots.tsx'
import { columnFor, Table } from '../parts/table.tsx'
import { useSpan } from '../parts/time.tsx'
import { useMay } from '../session.tsx'
import { rereadMs, useStatus } from '../status.ts'
import { useText } from '../text.tsx'
import { type UsageReport, usagePath, useDays } from '../usage.ts'

const route = getRouteApi('/providers/$name')

/** One account: whether it works, how well, which models it generates, and what can be done about it. */
export function ProviderPage() {
  return useMay()('see all') ? <Provider /> : <NotFound />
}

function Provider() {
  const t = useText()
  const { name } = route.useParams()
  const mayOperate = useMay()('operate')
  const path = accountPath(name)
  const result = useQuery<OperatorAccount>({ queryKey: [path], refetchInterval: rereadMs })
  const { data: status } = useStatus()
  if (isNotFound(result.error)) return <NotFound />
  const account = dataOf(result)
  if (!account) return null
  const alarms = status?.alarms.filter((alarm) => isAboutAccount(alarm) && alarm.subject === name) ?? []
  const used = status?.accounts.find((one) => one.name === name)?.used_slots ?? null
  return (
    <>
      <Head
        title={name}
        back={<Link to="/providers">{t('nav.providers')}</Link>}
        state={<Health account={account} />}
      />
      <AlarmNotices alarms={alarms} />
      {mayOperate && <Actions account={account} />}
      <div className="two even">
        <section>
          <h2>{t('provider.settings')}</h2>
          <AccountFacts account={account} used={used} />
          <p>
            <Link to="/videos" search={{ account: name }}>
              {t('provider.videos')}
            </Link>
          </p>
        </section>
        <Models account={name} />
      </div>
      <Days account={name} />
    </>
  )
}

function AccountFacts({ account, used }: { account: OperatorAccount; used: number | null }) {
  const t = useText()
  const { provider, base_url: address, key_set: hasKey, key_hint: hint, concurrency } = account
  const key = hasKey ? (hint === null ? t('provider.keySet') : t('provider.keyEnds', { hint })) : t('provider.noKey')
  return (
    <Facts
      facts={[
        [t('models.provider'), provider],
        [t('providers.address'), address],
        [t('providers.key'), address !== null && key],
        [t('provider.slots'), <Slots key="s" used={used} all={concurrency} />],
        [t('provider.unfinished'), account.unfinished_tasks],
        [t('provider.unknown'), t(`provider.unknown.${account.on_unknown}`)],
        [t('provider.recovery'), t(`provider.recovery.${account.recovery}`)],
        [t('provider.source'), t(`provider.source.${account.source}`)],
      ]}
    />
  )
}

type Verb = 'pause' | 'drain' | 'resume'

/** An account of filmgate.yaml can be tested, and resumed after its own pause; the rest is refused. */
function Actions({ account }: { account: OperatorAccount }) {
  const t = useText()
  const { name, mode, source, health } = account
  const { mutate, error, isPending } = useMutation({
    mutationFn: async (verb: Verb) => {
      await call(`${accountPath(name)}/${verb}`, { method: 'POST' })
      await rereadRoutes()
    },
  })
  const test = useTest(name)
  const isStored = source === 'store'
  const verbs: Verb[] = [
    ...(isStored && mode !== 'paused' ? (['pause'] as const) : []),
    ...(isStored && mode === 'active' ? (['drain'] as const) : []),
    ...(mode !== 'active' || health.reason !== null ? (['resume'] as const) : []),
  ]
  const wrong = error ?? test.error
  return (
    <section>
      <div className="actions">
        <button type="button" disabled={test.isPending} onClick={() => test.mutate()}>
          {test.isPending ? t('provider.testing') : t('provider.test')}
        </button>
        {verbs.map((verb) => (
          <button key={verb} type="button" disabled={isPending} onClick={() => mutate(verb)}>
            {t(`provider.do.${verb}`)}
          </button>
        ))}
        {isStored && <ChangeAccount account={account} />}
        {isStored && <RemoveAccount name={name} />}
      </div>
      {verbs.length > 0 && (
        <ul className="does">
          {verbs.map((verb) => (
            <li key={verb}>
              <strong>{t(`provider.do.${verb}`)}</strong> {t(`provider.does.${verb}`)}
            </li>
          ))}
        </ul>
      )}
      <Failure error={wrong} />
      {test.data && <TestResult result={test.data} />}
    </section>
  )
}

/** The address of an account that was just added asks for the test; a reload does not repeat it. */
function useTest(name: string) {
  const { test: isWanted = false } = route.useSearch()
  const navigate = route.useNavigate()
  const test = useMutation({
    mutationFn: () => call<OperatorAccountTest>(`${accountPath(name)}/test`, { method: 'POST' }),
  })
  const { mutate } = test
  useEffect(() => {
    if (!isWanted) return
    mutate()
    void navigate({ search: {}, replace: true })
  }, [isWanted, mutate, navigate])
  return test
}

const looks = { usable: 'notice fine', unusable: 'notice', unclear: 'notice mild' } as const

function TestResult({ result: { state, seen, fix } }: { result: OperatorAccountTest }) {
  const t = useText()
  return (
    <p className={looks[state]} role="status">
      <strong>{t(`provider.tested.${state}`)}</strong> {[seen, fix].filter((part) => part !== null).join('; ')}
    </p>
  )
}

function ChangeAccount({ account: { name, concurrency } }: { account: OperatorAccount }) {
  const t = useText()
  // As it was when the form was opened: the page goes on reading it.
  const [before, setBefore] = useState(concurrency)
  return (
    <FormDialog
      action={t('provider.change')}
      title={t('provider.changeTitle', { name })}
      text={t('provider.changeText')}
      onOpen={() => setBefore(concurrency)}
      onSubmit={async (form) => {
        const [key, slots] = [typedIn(form, 'key'), typedIn(form, 'concurrency')]
        const changed = changedIn({ concurrency: before }, { concurrency: slots === undefined ? null : Number(slots) })
        const body = { ...changed, ...(key !== undefined && { key }) }
        await call(accountPath(name), { method: 'POST', body })
        await rereadRoutes()
      }}
    >
      <Field label={t('providers.key')} name="key" type="password" autoComplete="off" hint={t('provider.newKeyHint')} />
      <Field
        label={t('provider.slots')}
        name="concurrency"
        type="number"
        min={1}
        defaultValue={before}
        hint={t('providers.slotsHint')}
      />
    </FormDialog>
  )
}

function RemoveAccount({ name }: { name: string }) {
  const t = useText()
  const navigate = useNavigate()
  return (
    <Confirm
      action={t('provider.remove')}
      title={t('provider.removeTitle', { name })}
      text={t('provider.removeText')}
      onConfirm={async () => {
        await call(accountPath(name), { method: 'DELETE' })
        await navigate({ to: '/providers' })
        await rereadRoutes()
      }}
    />
  )
}

function Models({ account }: { account: string }) {
  const t = useText()
  // Those of an engine are read from it, some seconds after it is added.
  const { data: models } = useModels(rereadMs)
  const rows = useMemo(
    () =>
      models?.flatMap(({ id, alias_of: alias, operator }) => {
        const found = operator?.routes.find((one) => one.account === account)
        return found && alias === undefined ? [{ id, ...found }] : []
      }),
    [models, account],
  )
  type Row = NonNullable<typeof rows>[number]
  const column = columnFor<Row>()
  const columns = [
    column('model', t('videos.model'), (one) => (
      <Link to="/models/$" params={{ _splat: one.id }} className="title">
        {one.id}
      </Link>
    )),
    column('upstream', t('attempt.model'), (one) => <code>{one.upstream_model}</code>),
    column('priority', t('route.priority'), (one) => one.priority),
    column('weight', t('route.weight'), (one) => one.weight),
  ]
  return (
    <section>
      <h2>{t('provider.models')}</h2>
      <Table
        label={t('provider.models')}
        rows={rows}
        columns={columns}
        idOf={({ id }) => id}
        empty={<p className="quiet">{t('provider.noModels')}</p>}
      />
    </section>
  )
}

const days = 30

/** How long its videos took, and how many failed, by day. */
function Days({ account }: { account: string }) {
  const t = useText()
  const span = useSpan()
  const { latency, errors, times, report } = useLines(account)
  const percent = usePercent()
  if (report.data && times.length === 0)
    return (
      <section>
        <h2>{t('provider.latency')}</h2>
        <p className="quiet">{t('provider.noVideos', { days })}</p>
      </section>
    )
  return (
    <div className="two even">
      <DailyChart title={t('provider.latency')} days={days} {...{ times, report }} series={latency} format={span} />
      <DailyChart title={t('provider.errors')} days={days} {...{ times, report }} series={errors} format={percent} />
    </div>
  )
}

/** The lines of both charts. They stay the same objects until there are other values: a chart is drawn again otherwise. */
function useLines(account: string) {
  const t = useText()
  const [since] = useDays(days)
  const path = usagePath(true, { group_by: 'day', account, since })
  const report = useQuery<UsageReport>({ queryKey: [path], staleTime: 60_000 })
  const { data } = report
  const lines = useMemo(() => {
    const groups = (data?.data ?? []).filter(({ completed, failed }) => completed + failed > 0)
    const shares = groups.map(({ success_rate: rate }) => (rate === null ? null : 1 - rate))
    return {
      times: groups.map(({ day }) => Date.parse(`${day}T00:00:00Z`)),
      latency: [
        { name: t('model.p50'), colour: '--accent', values: groups.map(({ p50_ms: ms }) => ms) },
        { name: t('model.p95'), colour: '--warm', values: groups.map(({ p95_ms: ms }) => ms) },
      ],
      errors: [{ name: t('provider.failed'), colour: '--bad', values: shares }],
    }
  }, [data, t])
  return { ...lines, report }
}
