import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { ApiError } from '../api.ts'
import { Field, RequiredNote, Select } from '../parts/field.tsx'
import { Failure } from '../parts/prose.tsx'
import { useText } from '../text.tsx'
import { periods, readTokenForm, type TokenValues, type ValueName } from '../tokens.ts'

interface TokenFormProps {
  values: TokenValues
  /** A new token: its kind can be chosen. */
  isNew: boolean
  action: string
  onSubmit(values: TokenValues): Promise<unknown>
  /** Buttons beside the first one. */
  children?: ReactNode
}

/** Every setting of a token. What the service refuses is said at its field. */
export function TokenForm({ values, isNew, action, onSubmit, children }: TokenFormProps) {
  const [kind, setKind] = useState(values.kind)
  const { mutate, error, isPending } = useMutation({ mutationFn: onSubmit })
  const param = error instanceof ApiError ? error.param : null
  const field = (name: ValueName) => ({
    name,
    defaultValue: values[name],
    error: error && isAbout(param, name) ? error.message : undefined,
  })
  const isPlaced = formNames[kind === 'operator' ? 'operator' : 'client'].some((name) => isAbout(param, name))
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        mutate(readTokenForm(event.currentTarget))
      }}
    >
      <Who field={field} kind={kind} setKind={isNew ? setKind : null} />
      <Scope field={field} isClient={kind !== 'operator'} />
      {kind !== 'operator' && <Limits field={field} />}
      {kind !== 'operator' && <Budgets field={field} />}
      {!isPlaced && <Failure error={error} />}
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

/** The fields that a form shows. An error about another one is shown at the button. */
const formNames: Readonly<Record<'client' | 'operator', readonly ValueName[]>> = {
  operator: ['name', 'role', 'ip_ranges', 'expires_at'],
  client: [
    ...(['name', 'project', 'models', 'ip_ranges', 'expires_at'] as const),
    ...(['rate', 'concurrency', 'queued', 'stored_bytes', 'spend.day', 'spend.month', 'spend.total'] as const),
  ],
}

/** `spend.day.limit` is about `spend.day`. */
function isAbout(param: string | null, name: ValueName): boolean {
  return param === name || param?.startsWith(`${name}.`) === true
}

interface FieldsProps {
  field(name: ValueName): { name: ValueName; defaultValue: string; error: string | undefined }
}

interface WhoProps extends FieldsProps {
  kind: string
  /** Null if the kind is fixed. */
  setKind: ((kind: string) => void) | null
}

function Who({ field, kind, setKind }: WhoProps) {
  const t = useText()
  const { defaultValue: _, error: __, ...kindField } = field('kind')
  return (
    <fieldset>
      <legend>{t('token.who')}</legend>
      <Field {...field('name')} label={t('tokens.name')} required maxLength={100} autoComplete="off" />
      {setKind && (
        <Select
          {...kindField}
          label={t('tokens.kind')}
          hint={kind === 'operator' ? t('token.kindOperator') : t('token.kindClient')}
          value={kind}
          options={(['client', 'operator'] as const).map((value) => ({ value, label: t(`tokens.kind.${value}`) }))}
          onChange={({ target }) => setKind(target.value)}
        />
      )}
      {kind === 'operator' && (
        <Select
          {...field('role')}
          label={t('token.role')}
          options={(['admin', 'viewer'] as const).map((value) => ({ value, label: t(`tokens.kind.${value}`) }))}
        />
      )}
    </fieldset>
  )
}

function Scope({ field, isClient }: FieldsProps & { isClient: boolean }) {
  const t = useText()
  return (
    <fieldset>
      <legend>{t('token.scope')}</legend>
      {isClient && (
        <>
          <Field {...field('project')} label={t('tokens.project')} hint={t('token.projectHint')} maxLength={100} />
          <Field {...field('models')} label={t('tokens.models')} hint={t('token.modelsHint')} />
        </>
      )}
      <Field {...field('ip_ranges')} label={t('token.addresses')} hint={t('token.addressesHint')} />
      <Field {...field('expires_at')} type="datetime-local" label={t('token.expires')} hint={t('token.expiresHint')} />
    </fieldset>
  )
}

function Limits({ field }: FieldsProps) {
  const t = useText()
  const whole = { type: 'number', min: 0, step: 1 } as const
  return (
    <fieldset>
      <legend>{t('token.limits')}</legend>
      <Field {...field('rate')} {...whole} label={t('token.rate')} hint={t('token.usualHint')} />
      <Field {...field('concurrency')} {...whole} min={1} label={t('token.concurrency')} hint={t('token.noneHint')} />
      <Field {...field('queued')} {...whole} label={t('token.queued')} hint={t('token.usualHint')} />
      <Field
        {...field('stored_bytes')}
        {...whole}
        step="any"
        label={t('token.gigabytes')}
        hint={t('token.usualHint')}
      />
    </fieldset>
  )
}

function Budgets({ field }: FieldsProps) {
  const t = useText()
  return (
    <fieldset>
      <legend>{t('token.budget')}</legend>
      {periods.map((period) => (
        <Field
          key={period}
          {...field(`spend.${period}`)}
          inputMode="decimal"
          pattern="[0-9]{1,9}([.][0-9]{1,12})?"
          label={t(`budget.${period}`)}
          hint={t('token.amountHint')}
        />
      ))}
      <Field {...field('time_zone')} label={t('token.zone')} hint={t('token.zoneHint')} />
    </fieldset>
  )
}
