import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import { useMemo, useState } from 'react'
import type { CreateAccount, OperatorAccount } from '../../../src/wire/accounts.ts'
import { accountsPath, isAboutAccount, needsOf, providerLabel, rereadRoutes, useAccounts } from '../accounts.ts'
import { call, dataOf } from '../api.ts'
import { NotFound } from '../frame/frame.tsx'
import { type ModelRow, useModels } from '../models.ts'
import { AlarmNotices } from '../parts/alarm.tsx'
import { Empty } from '../parts/empty.tsx'
import { Field, Select } from '../parts/field.tsx'
import { FormDialog, typedIn } from '../parts/form-dialog.tsx'
import { Head } from '../parts/head.tsx'
import { Health } from '../parts/health.tsx'
import { usePercent } from '../parts/number.ts'
import { Slots } from '../parts/slots.tsx'
import { columnFor, Table } from '../parts/table.tsx'
import { useSpan } from '../parts/time.tsx'
import { useMay } from '../session.tsx'
import { useStatus } from '../status.ts'
import { useText } from '../text.tsx'
import { daysUntilToday, type UsageData, type UsageReport, usagePath } from '../usage.ts'

/** An account, and what other routes know about it. */
interface AccountRow extends OperatorAccount {
  used: number | null
  models: number
  usage: UsageData | undefined
}

const route = getRouteApi('/providers')
const days = 7

export function ProvidersPage() {
  return useMay()('see all') ? <Providers /> : <NotFound />
}

function Providers() {
  const t = useText()
  const mayOperate = useMay()('operate')
  const data = dataOf(useAccounts())
  const { data: status } = useStatus()
  const rows = useRows(data?.data)
  const columns = useColumns()
  const elsewhere = data?.elsewhere ?? []
  const add = mayOperate && <AddAccount providers={data?.providers ?? []} />
  return (
    <>
      <Head title={t('nav.providers')} about={t('providers.about', { days })}>
        {(rows?.length ?? 0) > 0 && add}
      </Head>
      <AlarmNotices alarms={(status?.alarms ?? []).filter(isAboutAccount)} />
      {data?.missing.map((name) => (
        <p key={name} className="notice" role="status">
          {t('providers.missing', { name })}
        </p>
      ))}
      {data?.unused.map((why) => (
        <p key={why} className="notice mild">
          {t('providers.unused')} {why}
        </p>
      ))}
      <Table
        label={t('nav.providers')}
        rows={rows}
        columns={columns}
        idOf={({ name }) => name}
        empty={<Empty title={t('providers.none')} text={t('providers.noneText')} action={add} />}
      />
      {elsewhere.length > 0 && <p className="quiet">{t('providers.elsewhere', { names: elsewhere.join(', ') })}</p>}
    </>
  )
}

function useRows(accounts: readonly OperatorAccount[] | undefined): AccountRow[] | undefined {
  const { data: status } = useStatus()
  const { data: models } = useModels()
  const path = usagePath(true, { group_by: 'account', since: daysUntilToday(days)[0] })
  const { data: report } = useQuery<UsageReport>({ queryKey: [path], staleTime: 60_000 })
  return useMemo(
    () =>
      accounts?.map((account) => {
        const { name } = account
        const isRouted = ({ alias_of: alias, operator }: ModelRow) =>
          alias === undefined && operator?.routes.some((one) => one.account === name)
        return {
          ...account,
          used: status?.accounts.find((one) => one.name === name)?.used_slots ?? null,
          models: models?.filter(isRouted).length ?? 0,
          usage: report?.data.find((group) => group.account === name),
        }
      }),
    [accounts, status, models, report],
  )
}

function useColumns(): ColumnDef<AccountRow>[] {
  const t = useText()
  const span = useSpan()
  const percent = usePercent()
  return useMemo(() => {
    const column = columnFor<AccountRow>()
    return [
      column('account', t('videos.account'), ({ name }) => (
        <Link to="/providers/$name" params={{ name }} className="title">
          {name}
        </Link>
      )),
      column('provider', t('models.provider'), ({ provider }) => provider),
      column('health', t('provider.health'), (account) => <Health account={account} />),
      column('slots', t('provider.slots'), ({ used, concurrency }) => <Slots used={used} all={concurrency} />),
      column('models', t('nav.models'), ({ models }) => <span className="number">{models}</span>),
      column('errors', t('provider.failed'), ({ usage }) => {
        const rate = usage?.success_rate ?? null
        return rate === null ? '–' : <span className="number">{percent(1 - rate)}</span>
      }),
      column('time', t('model.p95'), ({ usage }) => {
        const ms = usage?.p95_ms ?? null
        return ms === null ? '–' : <span className="number">{span(ms)}</span>
      }),
    ]
  }, [t, span, percent])
}

/** Afterwards its own page is shown, with its models and the result of a test. A link may open the form. */
function AddAccount({ providers }: { providers: readonly string[] }) {
  const t = useText()
  const { add = false } = route.useSearch()
  const navigate = route.useNavigate()
  return (
    <FormDialog
      action={t('providers.add')}
      title={t('providers.addTitle')}
      text={t('providers.addText')}
      isPrimary
      startsOpen={add}
      onClose={() => void (add && navigate({ search: {}, replace: true }))}
      onSubmit={async (form) => {
        const { name } = await call<OperatorAccount>(accountsPath, { method: 'POST', body: readAccount(form) })
        await rereadRoutes()
        await navigate({ to: '/providers/$name', params: { name }, search: { test: true } })
      }}
    >
      <AccountFields providers={providers} />
    </FormDialog>
  )
}

function AccountFields({ providers }: { providers: readonly string[] }) {
  const t = useText()
  const [chosen = '', setChosen] = useState(providers[0])
  const needs = needsOf(chosen)
  return (
    <>
      <Select
        label={t('models.provider')}
        name="provider"
        required
        value={chosen}
        options={providers.map((provider) => ({ value: provider, label: providerLabel(provider) }))}
        onChange={({ target }) => setChosen(target.value)}
      />
      <Field
        name="key"
        autoComplete="off"
        label={t('providers.key')}
        type="password"
        required={needs === 'key'}
        hint={t('providers.keyHint')}
      />
      <Field
        name="name"
        autoComplete="off"
        label={t('providers.name')}
        hint={t('providers.nameHint')}
        maxLength={100}
      />
      <Field
        name="base_url"
        autoComplete="off"
        label={t('providers.address')}
        type="url"
        required={needs === 'address'}
        hint={needs === 'address' ? t('providers.engineHint') : t('providers.addressHint')}
      />
      <Field
        name="concurrency"
        autoComplete="off"
        label={t('provider.slots')}
        type="number"
        min={1}
        hint={t('providers.slotsHint')}
      />
    </>
  )
}

/** What is left empty has its default. */
function readAccount(form: FormData): CreateAccount {
  const provider = typedIn(form, 'provider') ?? ''
  const [key, address, slots] = ['key', 'base_url', 'concurrency'].map((name) => typedIn(form, name))
  return {
    ...{ name: typedIn(form, 'name') ?? provider, provider },
    ...(key !== undefined && { key }),
    ...(address !== undefined && { base_url: address }),
    ...(slots !== undefined && { concurrency: Number(slots) }),
  }
}
