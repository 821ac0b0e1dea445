import type { OperatorTask } from '../../../src/wire/operator.ts'
import { moneyOf, readLedgerAccount, readLedgerStep, type VideoMoney } from '../ledger.ts'
import { isFree, useModels } from '../models.ts'
import { Facts } from '../parts/facts.tsx'
import { Money, useAmount } from '../parts/money.tsx'
import { AccountLink, useTokenNames } from '../parts/owner.tsx'
import { ProviderCost } from '../parts/price.tsx'
import { columnFor, Table } from '../parts/table.tsx'
import { Time, useSpan } from '../parts/time.tsx'
import { useText } from '../text.tsx'

/* What operators see of a video: its submits, and its money. */

export function Attempts({ task }: { task: OperatorTask }) {
  const t = useText()
  const span = useSpan()
  type Row = OperatorTask['attempts'][number]
  const column = columnFor<Row>()
  const columns = [
    column('number', t('attempt.number'), (one) => one.number),
    column('account', t('videos.account'), (one) => <AccountLink name={one.account} />),
    column('model', t('attempt.model'), (one) => one.upstream_model),
    column('state', t('attempt.state'), (one) => t(`attempt.state.${one.state}`)),
    column('opened', t('attempt.opened'), (one) => <Time at={Date.parse(one.opened_at)} exact />),
    column('took', t('attempt.took'), (one) =>
      one.settled_at === null ? '–' : span(Date.parse(one.settled_at) - Date.parse(one.opened_at)),
    ),
    column('problem', t('attempt.problem'), (one) => one.problem?.message ?? '–'),
  ]
  return (
    <section>
      <h2>{t('video.attempts')}</h2>
      <Table
        label={t('video.attempts')}
        rows={task.attempts}
        columns={columns}
        idOf={({ id }) => id}
        empty={<p className="quiet">{t('video.noAttempts')}</p>}
      />
    </section>
  )
}

/** What the client pays and what the provider charged; below that, how it was posted. */
export function Entries({ task }: { task: OperatorTask }) {
  const t = useText()
  const columns = useEntryColumns(task)
  const money = moneyOf(task.entries)
  return (
    <section>
      <h2>{t('video.money')}</h2>
      {money ? (
        <>
          <MoneyFacts money={money} />
          <Table
            label={t('video.entries')}
            rows={task.entries}
            columns={columns}
            idOf={({ step, account }) => `${step} ${account}`}
          />
        </>
      ) : (
        <NothingPosted task={task} />
      )}
    </section>
  )
}

function MoneyFacts({ money: { currency, reserved, paid, charged } }: { money: VideoMoney }) {
  const t = useText()
  const format = useAmount()
  const isOpen = reserved !== null
  return (
    <Facts
      facts={[
        [t('money.paid'), isOpen ? t('money.upTo', { amount: format(reserved, currency) }) : format(paid, currency)],
        [
          t('money.charged'),
          charged === null ? t(isOpen ? 'money.notYet' : 'money.noCost') : format(charged, currency),
        ],
      ]}
    />
  )
}

function NothingPosted({ task }: { task: OperatorTask }) {
  const t = useText()
  const { data: models } = useModels()
  const { model, prompt, seconds, size, parameters, has_image: hasImage, source } = task
  const row = models?.find(({ id }) => id === model)
  if (row && isFree(row)) return <p className="quiet">{t('video.free')}</p>
  const image = hasImage && { image: 'https://image.invalid/' }
  return (
    <p className="quiet">
      {t('video.unpriced')}{' '}
      {row && !source && <ProviderCost body={{ model, prompt, seconds, size, ...parameters, ...image }} />}
    </p>
  )
}

function useEntryColumns({ attempts }: OperatorTask) {
  const t = useText()
  const names = useTokenNames()
  type Row = OperatorTask['entries'][number]
  const column = columnFor<Row>()
  const stepOf = ({ step }: Row) => {
    const known = readLedgerStep(step)
    if (!known) return step
    const number = attempts.find(({ id }) => id === known.attempt)?.number ?? '–'
    return t(`entry.step.${known.kind}`, { number })
  }
  const accountOf = ({ account }: Row) => {
    const known = readLedgerAccount(account)
    return known ? t(`entry.of.${known.kind}`, { name: names.get(known.name) ?? known.name }) : account
  }
  return [
    column('step', t('entry.step'), stepOf),
    column('account', t('entry.account'), accountOf),
    column('amount', t('entry.amount'), (one) => <Money amount={one.amount} currency={one.currency} />),
    column('at', t('entry.at'), (one) => <Time at={Date.parse(one.at)} exact />),
  ]
}
