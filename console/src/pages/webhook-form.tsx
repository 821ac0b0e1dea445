import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { ApiError } from '../api.ts'
import { Check, Field, RequiredNote } from '../parts/field.tsx'
import { Failure } from '../parts/prose.tsx'
import { useText } from '../text.tsx'
import { type EventType, eventTypes } from '../webhooks.ts'

interface EndpointValues {
  name: string
  url: string
  event_types: readonly EventType[]
}

interface WebhookFormProps {
  values: EndpointValues
  action: string
  onSubmit(values: EndpointValues): Promise<unknown>
  /** Buttons beside the first one. */
  children?: ReactNode
}

/** The settings of an endpoint. What the service refuses is said at its field. */
export function WebhookForm({ values, action, onSubmit, children }: WebhookFormProps) {
  const t = useText()
  const { mutate, error, isPending } = useMutation({ mutationFn: onSubmit })
  const param = error instanceof ApiError ? error.param : null
  const errorOf = (name: 'name' | 'url') => (error && param === name ? error.message : undefined)
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        const data = new FormData(event.currentTarget)
        const text = (name: string) => String(data.get(name) ?? '').trim()
        const types = eventTypes.filter((type) => data.getAll('event_types').includes(type))
        mutate({ name: text('name'), url: text('url'), event_types: types })
      }}
    >
      <fieldset>
        <legend>{t('webhook.receiver')}</legend>
        <Field
          name="name"
          defaultValue={values.name}
          error={errorOf('name')}
          label={t('webhooks.name')}
          required
          maxLength={256}
        />
        <Field
          name="url"
          type="url"
          defaultValue={values.url}
          error={errorOf('url')}
          label={t('webhook.url')}
          hint={t('webhook.urlHint')}
          required
          maxLength={2048}
        />
      </fieldset>
      <fieldset>
        <legend>{t('webhooks.events')}</legend>
        {eventTypes.map((type) => (
          <Check
            key={type}
            name="event_types"
            value={type}
            label={type}
            defaultChecked={values.event_types.includes(type)}
          />
        ))}
      </fieldset>
      {param !== 'name' && param !== 'url' && <Failure error={error} />}
      <RequiredNote />
      <p className="actions">
        <button type="submit" className="primary" disabled={isPending}>
          {action}
        </button>
        {children}
      </p>
    </form>
  )
}
