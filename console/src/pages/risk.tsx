import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import { useMemo } from 'react'
import type { OperatorAttemptList } from '../../../src/wire/operator.ts'
import { call, dataOf, queries, withQuery } from '../api.ts'
import { NotFound } from '../frame/frame.tsx'
import { Copy } from '../parts/code.tsx'
import { Confirm } from '../parts/dialog.tsx'
import { Empty } from '../parts/empty.tsx'
import { Field } from '../parts/field.tsx'
import { FormDialog, typedIn } from '../parts/form-dialog.tsx'
import { Head } from '../parts/head.tsx'
import { columnFor, Table } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { isBeingSent, type RiskAttempt, type RiskView, riskViews } from '../risk.ts'
import { useMay } from '../session.tsx'
import { rereadMs } from '../status.ts'
import { useText } from '../text.tsx'

const route = getRouteApi('/money-at-risk')
const perPage = 100

/** Attempts whose outcome is unknown, and work at providers that no task uses. */
export function RiskPage() {
  return useMay()('see all') ? <Risks /> : <NotFound />
}

function Risks() {
  const t = useText()
  const { show: view = 'held', after } = route.useSearch()
  const navigate = route.useNavigate()
  const { rows, hasMore, lastId } = useRisks(view, after)
  const columns = useColumns(view)
  const shown = view === 'held' ? {} : { show: view }
  return (
    <>
      <Head title={t('nav.risk')} about={t('risk.about')} />
      <Views />
      <p className="quiet">{t(`risk.text.${view}`)}</p>
      <Table
        label={t(`risk.view.${view}`)}
        rows={rows}
        columns={columns}
        idOf={({ id }) => id}
        empty={
          hasMore || after !== undefined ? (
            <p className="quiet">{t('risk.noneHere')}</p>
          ) : (
            <Empty title={t(`risk.none.${view}`)} text={t('risk.noneText')} />
          )
        }
        pages={{
          isFirst: after === undefined,
          hasMore,
          toFirst: () => void navigate({ search: shown }),
          toNext: () => void navigate({ search: { ...shown, ...(lastId !== null && { after: lastId }) } }),
        }}
      />
    </>
  )
}

/** Each has an address of its own. */
function Views() {
  const t = useText()
  return (
    <nav className="views" aria-label={t('risk.views')}>
      {riskViews.map((view) => (
        <Link
          key={view}
          to="/money-at-risk"
          search={view === 'held' ? {} : { show: view }}
          activeOptions={{ exact: true }}
          activeProps={{ 'aria-current': 'page' }}
        >
          {t(`risk.view.${view}`)}
        </Link>
      ))}
    </nav>
  )
}

function useRisks(view: RiskView, after: string | undefined) {
  const isHeld = view === 'held'
  const attemptsPath = withQuery('/operator/v1/attempts', { state: isHeld ? 'open' : view, after, limit: perPage })
  const data = dataOf(useQuery<OperatorAttemptList>({ queryKey: [attemptsPath], refetchInterval: rereadMs }))
  // An open attempt of a task that went on without it needs no decision.
  const rows = useMemo(() => data?.data.filter(({ task_state: state }) => !isHeld || state === 'held'), [data, isHeld])
  return { rows, hasMore: data?.has_more ?? false, lastId: data?.last_id ?? null }
}

function useColumns(view: RiskView): ColumnDef<RiskAttempt>[] {
  const t = useText()
  const decides = useMay()('operate') && view === 'held'
  return useMemo(() => {
    const column = columnFor<RiskAttempt>()
    return [
      column('video', t('palette.video'), (row) => <VideoLink row={row} />),
      column('account', t('videos.account'), ({ account, upstream_model: model }) => (
        <>
          <Link to="/providers/$name" params={{ name: account }}>
            {account}
          </Link>
          <small className="quiet code-name">{model}</small>
        </>
      )),
      column('opened', t('attempt.opened'), ({ opened_at: at }) => <Time at={Date.parse(at)} />),
      view === 'held'
        ? column('reference', t('risk.reference'), ({ id }) => <Handle text={id} />)
        : column('operation', t('risk.operation'), ({ operation }) => <Operation operation={operation} />),
      column('problem', t('attempt.problem'), (row) =>
        view === 'held' && isBeingSent(row) ? t('risk.sending') : (row.problem?.message ?? '–'),
      ),
      ...(decides
        ? [column('decide', t('risk.decide'), (row) => (isBeingSent(row) ? '–' : <Decisions row={row} />))]
        : []),
    ]
  }, [t, view, decides])
}

/** The row of a task may be removed before its attempts. */
function VideoLink({ row: { task, prompt, owner } }: { row: RiskAttempt }) {
  if (prompt === null) return <code className="handle">{task}</code>
  return (
    <>
      <Link to="/videos/$id" params={{ id: task }} className="title">
        {prompt}
      </Link>
      <small className="quiet">{owner}</small>
    </>
  )
}

function Handle({ text }: { text: string }) {
  return (
    <span className="id">
      <code className="handle">{text}</code>
      <Copy text={text} />
    </span>
  )
}

/** The job at the provider, to look for it there. */
function Operation({ operation }: { operation: unknown }) {
  if (operation === null || operation === undefined) return '–'
  return <Handle text={typeof operation === 'string' ? operation : JSON.stringify(operation)} />
}

/**
 * What an operator can do about a held task. Each is refused while a worker looks at the task, and if the task has a newer
 * attempt than the one that is shown; then the reason is shown.
 */
function Decisions({ row: { id: attempt, task } }: { row: RiskAttempt }) {
  const t = useText()
  const decide = async (decision: 'adopt' | 'resubmit' | 'give_up', more: { operation?: unknown } = {}) => {
    const path = `/operator/v1/tasks/${encodeURIComponent(task)}/${decision}`
    await call(path, { method: 'POST', body: { attempt, ...more } })
    await queries.invalidateQueries({
      predicate: ({ queryKey: [path] }) => /^\/operator\/v1\/(attempts|tasks|status)/.test(String(path)),
    })
  }
  return (
    <div className="actions">
      <FormDialog
        action={t('risk.adopt')}
        title={t('risk.adoptTitle')}
        text={t('risk.adoptText')}
        onSubmit={(form) => decide('adopt', { operation: readOperation(typedIn(form, 'operation') ?? '') })}
      >
        <Field
          label={t('risk.operation')}
          name="operation"
          autoComplete="off"
          required
          hint={t('risk.operationHint')}
        />
      </FormDialog>
      <Confirm
        action={t('risk.resubmit')}
        title={t('risk.resubmitTitle')}
        text={t('risk.resubmitText')}
        onConfirm={() => decide('resubmit')}
      />
      <Confirm
        action={t('risk.giveUp')}
        title={t('risk.giveUpTitle')}
        text={t('risk.giveUpText')}
        onConfirm={() => decide('give_up')}
      />
    </div>
  )
}

/** An id, or all of the operation as JSON. The service says what is wrong with it. */
function readOperation(text: string): unknown {
  if (!text.startsWith('{')) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
