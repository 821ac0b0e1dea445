import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { WebhookEndpoint, WebhookEndpointWithSecret, WebhookTest } from '../../../src/wire/webhooks.ts'
import { call, dataOf, isNotFound } from '../api.ts'
import { changedIn } from '../changes.ts'
import { NotFound } from '../frame/frame.tsx'
import { Copy } from '../parts/code.tsx'
import { Confirm } from '../parts/dialog.tsx'
import { Facts } from '../parts/facts.tsx'
import { Select } from '../parts/field.tsx'
import { Head } from '../parts/head.tsx'
import { Failure } from '../parts/prose.tsx'
import { Time } from '../parts/time.tsx'
import { useMay } from '../session.tsx'
import { useText } from '../text.tsx'
import { type EventType, endpointPath, endpointsPath, eventTypes, isOfWebhooks } from '../webhooks.ts'
import { Deliveries } from './deliveries.tsx'
import { IssuedSigningSecret } from './new-webhook.tsx'
import { WebhookForm } from './webhook-form.tsx'
import { EndpointState } from './webhooks.tsx'

const route = getRouteApi('/webhooks/$id')
const rereadMs = 5_000

export function WebhookPage() {
  return useMay()('create') ? <Endpoint /> : <NotFound />
}

function Endpoint() {
  const { id } = route.useParams()
  const result = useQuery<WebhookEndpoint>({ queryKey: [endpointPath(id)], refetchInterval: rereadMs })
  if (isNotFound(result.error)) return <NotFound />
  const data = dataOf(result)
  return data ? <Details endpoint={data} /> : null
}

function Details({ endpoint }: { endpoint: WebhookEndpoint }) {
  const t = useText()
  const [issued, setIssued] = useState<WebhookEndpointWithSecret | null>(null)
  const [isChanging, setChanging] = useState(false)
  const { id, name, url } = endpoint
  return (
    <>
      <Head
        title={name}
        back={<Link to="/webhooks">{t('nav.webhooks')}</Link>}
        state={
          <>
            <EndpointState endpoint={endpoint} />
            <code>{url}</code>
            <Copy text={url} />
          </>
        }
      >
        <Actions endpoint={endpoint} onIssue={setIssued} onChange={() => setChanging(true)} />
      </Head>
      {issued && <IssuedSigningSecret key={issued.signing_secret} endpoint={issued} />}
      {endpoint.disabled_at !== null && <Disabled endpoint={endpoint} />}
      {isChanging ? (
        <Change endpoint={endpoint} onEnd={() => setChanging(false)} />
      ) : (
        <div className="two even">
          <section>
            <h2>{t('token.settings')}</h2>
            <EndpointFacts endpoint={endpoint} />
          </section>
          <Test id={id} />
        </div>
      )}
      <Deliveries id={id} isEnabled={endpoint.disabled_at === null} />
    </>
  )
}

function EndpointFacts({ endpoint }: { endpoint: WebhookEndpoint }) {
  const t = useText()
  const { id, event_types: types, signing_secret_hint: hint, created_at: created, updated_at: updated } = endpoint
  return (
    <Facts
      facts={[
        [t('webhook.id'), <code key="i">{id}</code>],
        [t('webhooks.events'), types.join(', ')],
        [t('webhook.hint'), <code key="h">{hint}</code>],
        [t('videos.created'), <Time key="c" at={created * 1_000} exact />],
        [t('token.changed'), <Time key="u" at={updated * 1_000} exact />],
      ]}
    />
  )
}

/** Any change enables it, also one that changes nothing. */
function Disabled({ endpoint: { id, disabled_reason: reason } }: { endpoint: WebhookEndpoint }) {
  const t = useText()
  const queries = useQueryClient()
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => call(endpointPath(id), { method: 'POST', body: {} }),
    onSuccess: () => queries.invalidateQueries({ predicate: isOfWebhooks }),
  })
  return (
    <div className="notice" role="status">
      <p>
        {t('webhook.disabled')} {reason}
      </p>
      <p className="actions">
        <button type="button" disabled={isPending} onClick={() => mutate()}>
          {t('webhook.enable')}
        </button>
      </p>
      <Failure error={error} />
    </div>
  )
}

interface ActionsProps {
  endpoint: WebhookEndpoint
  onIssue(endpoint: WebhookEndpointWithSecret): void
  onChange(): void
}

function Actions({ endpoint: { id, name }, onIssue, onChange }: ActionsProps) {
  const t = useText()
  const navigate = useNavigate()
  const queries = useQueryClient()
  return (
    <div className="actions">
      <button type="button" onClick={onChange}>
        {t('token.change')}
      </button>
      <Rotate id={id} onIssue={onIssue} />
      <Confirm
        action={t('webhook.delete')}
        title={t('webhook.deleteTitle', { name })}
        text={t('webhook.deleteText')}
        onConfirm={async () => {
          await call(endpointPath(id), { method: 'DELETE' })
          // Only the list is read again: the endpoint itself is gone.
          queries.removeQueries({ predicate: ({ queryKey: [path] }) => String(path).startsWith(`${endpointsPath}?`) })
          await navigate({ to: '/webhooks' })
        }}
      />
    </div>
  )
}

function Rotate({ id, onIssue }: { id: string } & Pick<ActionsProps, 'onIssue'>) {
  const t = useText()
  const queries = useQueryClient()
  const [keeps, setKeeps] = useState(true)
  return (
    <Confirm
      action={t('token.rotate')}
      isHarmless
      title={t('token.rotateTitle')}
      text={t('webhook.rotateText')}
      onConfirm={async () => {
        const body = { keep_old_secret_active_for_24_hours: keeps }
        const path = `${endpointPath(id)}/rotate_secret`
        onIssue(await call<WebhookEndpointWithSecret>(path, { method: 'POST', body }))
        await queries.invalidateQueries({ predicate: isOfWebhooks })
      }}
    >
      <Select
        label={t('webhook.keep')}
        value={keeps ? 'day' : 'now'}
        options={(['day', 'now'] as const).map((value) => ({ value, label: t(`token.overlap.${value}`) }))}
        onChange={({ target }) => setKeeps(target.value === 'day')}
      />
    </Confirm>
  )
}

/** A test is sent at once, and is in no list: its result is shown here. */
function Test({ id }: { id: string }) {
  const t = useText()
  const [type, setType] = useState<EventType>('video.completed')
  const { mutate, isPending, data, error } = useMutation({
    mutationFn: () => call<WebhookTest>(`${endpointPath(id)}/test`, { method: 'POST', body: { event_type: type } }),
  })
  return (
    <section>
      <h2>{t('webhook.test')}</h2>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault()
          mutate()
        }}
      >
        <Select
          label={t('webhook.event')}
          value={type}
          options={eventTypes.map((one) => ({ value: one, label: one }))}
          onChange={({ target }) => setType(eventTypes.find((one) => one === target.value) ?? 'video.completed')}
        />
        <p className="actions">
          <button type="submit" disabled={isPending}>
            {t('webhook.send')}
          </button>
        </p>
      </form>
      <div role="status">
        {data?.success && <p>{t('webhook.accepted', { status: data.status_code })}</p>}
        {data && !data.success && <p className="notice">{data.message}</p>}
      </div>
      <Failure error={error} />
    </section>
  )
}

function Change({ endpoint, onEnd }: { endpoint: WebhookEndpoint; onEnd: () => void }) {
  const t = useText()
  const queries = useQueryClient()
  // As it was when the form was opened: the page goes on reading it.
  const [before] = useState(endpoint)
  return (
    <WebhookForm
      values={before}
      action={t('token.save')}
      onSubmit={async (values) => {
        await call(endpointPath(endpoint.id), { method: 'POST', body: changedIn(before, values) })
        await queries.invalidateQueries({ predicate: isOfWebhooks })
        onEnd()
      }}
    >
      <button type="button" onClick={onEnd}>
        {t('dialog.cancel')}
      </button>
    </WebhookForm>
  )
}
