import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { OperatorQuote } from '../../../src/wire/videos.ts'
import { rereadRoutes } from '../accounts.ts'
import { call } from '../api.ts'
import type { ModelRow } from '../models.ts'
import { Confirm } from '../parts/dialog.tsx'
import { Field, Select } from '../parts/field.tsx'
import { FormDialog, typedIn } from '../parts/form-dialog.tsx'
import { Money } from '../parts/money.tsx'
import { Failure, Prose, useReason } from '../parts/prose.tsx'
import { useText } from '../text.tsx'

const modelsPath = '/operator/v1/models'
const aliasesPath = '/operator/v1/aliases'

/** What an operator declared for a model, in the words of filmgate.yaml. */
type Settings = Readonly<Record<string, unknown>>

/** Changes these settings of a model, and leaves the others as they are: another operator may change them. Null removes one. */
async function change(name: string, settings: Settings): Promise<void> {
  await call(`${modelsPath}/${encodeURIComponent(name)}`, { method: 'POST', body: { settings } })
  await rereadRoutes()
}

/** Pause, alias and own price. What filmgate.yaml declares can be changed only there. */
export function ModelActions({ model }: { model: ModelRow }) {
  const t = useText()
  const { id, alias_of: alias, operator } = model
  const isConfigured = operator?.source === 'config'
  if (alias !== undefined) return isConfigured ? <Configured /> : <RemoveAlias name={id} />
  const settings = (operator?.settings ?? {}) as Settings
  return (
    <section>
      <h2>{t('model.operate')}</h2>
      <Quoted model={model} />
      <div className="actions">
        {!isConfigured && <Pause model={model} />}
        {!isConfigured && <OwnPrice name={id} isSet={settings.price !== undefined} />}
        <AddAlias model={id} />
      </div>
      {isConfigured ? <Configured /> : <p className="does">{t('model.pauseText')}</p>}
    </section>
  )
}

function Configured() {
  const t = useText()
  return <p className="quiet">{t('model.configured')}</p>
}

function Pause({ model: { id, paused } }: { model: ModelRow }) {
  const t = useText()
  const { mutate, error, isPending } = useMutation({
    mutationFn: () => change(id, { paused: paused ? null : true }),
  })
  return (
    <>
      <button type="button" disabled={isPending} onClick={() => mutate()}>
        {paused ? t('model.resume') : t('model.pause')}
      </button>
      <Failure error={error} />
    </>
  )
}

/** What a client pays now for a video with the defaults of the model. */
function Quoted({ model: { id, image, operator } }: { model: ModelRow }) {
  const t = useText()
  const reason = useReason()
  const { data: quote, error } = useQuery({
    queryKey: [`${modelsPath}/quote`, id, operator?.settings],
    // A request without an image would be refused.
    enabled: image !== 'required',
    queryFn: ({ signal }) =>
      call<OperatorQuote>('/operator/v1/quote', {
        method: 'POST',
        body: { model: id, prompt: t('videos.firstPrompt') },
        signal,
      }),
  })
  if (error) return <p className="notice mild">{reason(error)}</p>
  if (!quote) return null
  const { price, seconds, size, unpriced } = quote
  if (unpriced !== null)
    return (
      <p className="notice mild">
        <Prose text={t('model.unpriced', { reason: unpriced })} />{' '}
        <Prose text={operator?.source === 'config' ? t('model.priceInFile') : t('model.priceHere')} />
      </p>
    )
  return (
    <p className="quoted">
      {t('model.quoted', { seconds, size: size.replace('x', '×') })}{' '}
      {price ? <Money amount={price.cost} currency={price.currency} /> : t('model.free')}
    </p>
  )
}

const units = ['second', 'video'] as const

/** One price for each second or each video. It replaces what was declared before. */
function OwnPrice({ name, isSet }: { name: string; isSet: boolean }) {
  const t = useText()
  return (
    <>
      <FormDialog
        action={t('model.setPrice')}
        title={t('model.setPriceTitle', { name })}
        text={t('model.setPriceText')}
        onSubmit={(form) => {
          const line = { unit: typedIn(form, 'unit'), price: typedIn(form, 'price') }
          return change(name, { price: [line] })
        }}
      >
        <Field
          label={t('model.ownPrice')}
          name="price"
          inputMode="decimal"
          autoComplete="off"
          required
          hint={t('model.ownPriceHint')}
        />
        <Select
          label={t('model.unit')}
          name="unit"
          options={units.map((unit) => ({ value: unit, label: t(`models.unit.${unit}`) }))}
        />
      </FormDialog>
      {isSet && (
        <Confirm
          action={t('model.dropPrice')}
          title={t('model.dropPriceTitle', { name })}
          text={t('model.dropPriceText')}
          onConfirm={() => change(name, { price: null })}
        />
      )}
    </>
  )
}

function AddAlias({ model }: { model: string }) {
  const t = useText()
  const navigate = useNavigate()
  return (
    <FormDialog
      action={t('model.addAlias')}
      title={t('model.addAliasTitle', { name: model })}
      text={t('model.addAliasText')}
      onSubmit={async (form) => {
        const name = typedIn(form, 'name') ?? ''
        await call(aliasesPath, { method: 'POST', body: { name, model } })
        await rereadRoutes()
        await navigate({ to: '/models/$', params: { _splat: name } })
      }}
    >
      <Field label={t('model.aliasName')} name="name" autoComplete="off" required maxLength={200} />
    </FormDialog>
  )
}

function RemoveAlias({ name }: { name: string }) {
  const t = useText()
  const navigate = useNavigate()
  return (
    <div className="actions">
      <Confirm
        action={t('model.removeAlias')}
        title={t('model.removeAliasTitle', { name })}
        text={t('model.removeAliasText')}
        onConfirm={async () => {
          await call(`${aliasesPath}/${encodeURIComponent(name)}`, { method: 'DELETE' })
          await navigate({ to: '/models' })
          await rereadRoutes()
        }}
      />
    </div>
  )
}
