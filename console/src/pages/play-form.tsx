import { Link } from '@tanstack/react-router'
import { useId } from 'react'
import { allows, type Period } from '../budget.ts'
import type { ModelRow } from '../models.ts'
import { Resets } from '../parts/budget.tsx'
import { Select } from '../parts/field.tsx'
import { Money, useAmount } from '../parts/money.tsx'
import { NoPrice } from '../parts/price.tsx'
import { Failure, Prose, useReason } from '../parts/prose.tsx'
import { useSpan } from '../parts/time.tsx'
import {
  type Draft,
  lengthOptions,
  mostModels,
  type Obstacle,
  type Option,
  obstacleOf,
  sizeOptions,
} from '../playground.ts'
import { type Quoted, useQuotes } from '../playing.ts'
import { useMay } from '../session.tsx'
import { useText } from '../text.tsx'
import { ImageDrop } from './play-image.tsx'
import { ParameterFields } from './play-parameters.tsx'

interface PlayFormProps {
  all: readonly ModelRow[]
  chosen: readonly ModelRow[]
  draft: Draft
  /** The chosen models whose video this form has created already. */
  created: readonly string[]
  isPending: boolean
  error: Error | null
  setModels(names: string[]): void
  setDraft(draft: Draft): void
  onSubmit(): void
}

/** A form made of the cards of the models. What they do not accept can't be chosen, and says why. */
export function PlayForm(props: PlayFormProps) {
  const t = useText()
  const { all, chosen, draft, created, isPending, error, setModels, setDraft, onSubmit } = props
  const reason = useId()
  const obstacle = obstacleOf(draft, chosen)
  const change = (changed: Partial<Draft>) => setDraft({ ...draft, ...changed })
  return (
    <form
      className="play-form"
      onSubmit={(event) => {
        event.preventDefault()
        if (!obstacle && !isPending) onSubmit()
      }}
    >
      {draft.original ? (
        <OriginalNote original={draft.original} onLeave={() => change({ original: null })} />
      ) : (
        <ModelChoices all={all} chosen={chosen} setModels={setModels} />
      )}
      <Prompt draft={draft} onChange={(prompt) => change({ prompt })} />
      <Measures chosen={chosen} draft={draft} change={change} />
      <ImageDrop chosen={chosen} draft={draft} onChange={(image) => change({ image })} />
      <ParameterFields chosen={chosen} draft={draft} onChange={(parameters) => change({ parameters })} />
      <Quotes draft={draft} chosen={chosen} created={created} />
      <Failure error={error} />
      <div className="play-submit">
        <button type="submit" className="primary" disabled={obstacle !== null || isPending} aria-describedby={reason}>
          <Action missing={chosen.length - created.length} count={chosen.length} />
        </button>
        <p id={reason} className="quiet" role="status">
          {isPending ? (
            t('play.sending')
          ) : (
            <Reason obstacle={obstacle} created={created} isAll={created.length === chosen.length} />
          )}
        </p>
      </div>
    </form>
  )
}

/** Only videos that do not exist yet are created. */
function Action({ missing, count }: { missing: number; count: number }) {
  const t = useText()
  if (missing === 0) return count > 1 ? t('play.showAll', { count }) : t('play.show')
  return missing > 1 ? t('play.createAll', { count: missing }) : t('play.create')
}

interface ReasonProps {
  obstacle: Obstacle | null
  created: readonly string[]
  isAll: boolean
}

/** Why nothing can be created, or what the button does. */
function Reason({ obstacle, created, isAll }: ReasonProps) {
  const t = useText()
  if (obstacle) return t(`play.obstacle.${obstacle.why}`, { models: obstacle.models.join(', ') })
  if (isAll) return created.length > 1 ? t('play.createdAll') : t('play.created')
  return created.length > 0 ? t('play.createdOf', { models: created.join(', ') }) : t('play.keys')
}

/** What the new video is derived from, in place of the models. */
function OriginalNote({ original, onLeave }: { original: NonNullable<Draft['original']>; onLeave: () => void }) {
  const t = useText()
  return (
    <div className="play-original">
      <p>
        <strong>{t(`play.original.${original.how}`)}</strong> {original.prompt}
      </p>
      <button type="button" onClick={onLeave}>
        {t('play.leaveOriginal')}
      </button>
    </div>
  )
}

/** By position: the one that is changed keeps the focus. */
const slots = Array.from({ length: mostModels }, (_, at) => at)

/** Up to four models, each once. */
function ModelChoices({ all, chosen, setModels }: Pick<PlayFormProps, 'all' | 'chosen' | 'setModels'>) {
  const t = useText()
  const names = chosen.map(({ id }) => id)
  const free = all.find(({ id, paused }) => !paused && !names.includes(id))
  const optionOf = ({ id, paused }: ModelRow, at: number) => ({
    value: id,
    label: paused ? t('play.pausedModel', { model: id }) : id,
    isRefused: id !== names[at] && (paused === true || names.includes(id)),
  })
  return (
    <div className="play-models">
      {slots.slice(0, names.length).map((at) => (
        <div key={at} className="play-model">
          <Select
            label={names.length > 1 ? t('play.modelNumber', { number: at + 1 }) : t('videos.model')}
            value={names[at] ?? ''}
            hint={names.length > 1 ? undefined : chosen[0]?.description}
            options={all.map((model) => optionOf(model, at))}
            onChange={({ target }) => setModels(names.with(at, target.value))}
          />
          {names.length > 1 && (
            <button type="button" onClick={() => setModels(names.toSpliced(at, 1))}>
              {t('play.removeModel')} <span className="hidden">{names[at]}</span>
            </button>
          )}
        </div>
      ))}
      {free && names.length < mostModels && (
        <button type="button" onClick={() => setModels([...names, free.id])}>
          {t('play.addModel')}
        </button>
      )}
      {all.length === 1 && <OnlyModel />}
    </div>
  )
}

/** How to get another model: without one, nothing can be compared. */
function OnlyModel() {
  const t = useText()
  const mayOperate = useMay()('operate')
  return (
    <p className="quiet">
      {t('play.onlyModel')} {!mayOperate && t('play.askForModel')}
      {mayOperate && (
        <>
          <Link to="/providers" search={{ add: true }}>
            {t('play.addProvider')}
          </Link>
          <span className="line-break">
            <Prose text={t('play.freeModels')} />
          </span>
        </>
      )}
    </p>
  )
}

/** The same as the limit of the API. */
const longestPrompt = 32_000

function Prompt({ draft, onChange }: { draft: Draft; onChange: (prompt: string) => void }) {
  const t = useText()
  return (
    <div className="field">
      <label htmlFor="prompt">{t('videos.prompt')}</label>
      <textarea
        id="prompt"
        rows={4}
        maxLength={longestPrompt}
        value={draft.prompt}
        placeholder={draft.original ? t(`play.promptOf.${draft.original.how}`) : t('play.promptExample')}
        onChange={({ target }) => onChange(target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
          event.preventDefault()
          event.currentTarget.form?.requestSubmit()
        }}
      />
    </div>
  )
}

interface MeasuresProps {
  chosen: readonly ModelRow[]
  draft: Draft
  change(changed: Partial<Draft>): void
}

/** The length and the size. A derived video has those of its original; an extension adds a length. */
function Measures({ chosen, draft, change }: MeasuresProps) {
  const t = useText()
  const { original } = draft
  const usual = (ofOne: string) =>
    chosen.length > 1 ? t('play.usualOfEach') : t('play.usual', { usual: ofOne.replace('x', '×') })
  const option = (label: string, { value, refusedBy }: Option) =>
    refusedBy.length === 0
      ? { value, label }
      : { value, label: t('play.refusedBy', { value: label, models: refusedBy.join(', ') }), isRefused: true }
  const isLengthFixed = original !== null && original.how !== 'extension'
  const asOriginal = t('play.asOriginal')
  const first = chosen[0]
  if (!first) return null
  const noLength = original ? t('play.chooseLength') : usual(t('span.s', { s: first.seconds.default }))
  return (
    <div className="play-measures">
      <Select
        label={original?.how === 'extension' ? t('play.more') : t('videos.length')}
        value={isLengthFixed ? '' : draft.seconds}
        options={[
          { value: '', label: isLengthFixed ? asOriginal : noLength },
          ...lengthOptions(chosen, draft.seconds).map((one) => option(t('span.s', { s: one.value }), one)),
        ]}
        disabled={isLengthFixed}
        onChange={({ target }) => change({ seconds: target.value })}
      />
      <Select
        label={t('video.size')}
        value={original ? '' : draft.size}
        options={[
          { value: '', label: original ? asOriginal : usual(first.size.default) },
          ...sizeOptions(chosen, draft.size).map((one) => option(one.value.replace('x', '×'), one)),
        ]}
        disabled={original !== null}
        onChange={({ target }) => change({ size: target.value })}
      />
    </div>
  )
}

/** Price, time and place in the queue of each model, before anything is created. */
function Quotes({ draft, chosen, created }: Pick<PlayFormProps, 'draft' | 'chosen' | 'created'>) {
  const t = useText()
  const quotes = useQuotes(draft, chosen)
  if (draft.original) return <p className="quiet">{t('play.noQuote')}</p>
  return (
    <>
      <ul className="quotes" aria-label={t('play.quotes')}>
        {quotes.map((quoted) => (
          <QuoteLine key={quoted.model} {...quoted} row={chosen.find(({ id }) => id === quoted.model)} />
        ))}
      </ul>
      <OverBudget quotes={quotes.filter(({ model }) => !created.includes(model))} />
    </>
  )
}

/** The budgets of the token that have less left than the videos cost. The service refuses them. */
function OverBudget({ quotes }: { quotes: readonly Quoted[] }) {
  const t = useText()
  const format = useAmount()
  const cost = quotes.reduce((sum, { quote }) => sum + (quote?.price?.cost ?? 0), 0)
  const budgets = quotes.findLast(({ quote }) => quote)?.quote?.spend ?? []
  return budgets
    .filter((spent) => !allows(spent, cost))
    .map((spent) => (
      <p key={spent.period} className="notice mild" role="status">
        {t(`play.overBudget.${spent.period as Period}`, {
          cost: format(cost, spent.currency),
          amount: format(spent.amount, spent.currency),
          limit: format(spent.limit, spent.currency),
        })}
        <Resets spent={spent} />
      </p>
    ))
}

function QuoteLine({ model, body, quote, error, row }: Quoted & { row: ModelRow | undefined }) {
  const t = useText()
  const [span, reason] = [useSpan(), useReason()]
  const { price = null, eta = null, queue_position: position = null } = quote ?? {}
  return (
    <li>
      <strong>
        <bdi>{model}</bdi>
      </strong>
      {error && (
        <span className="wrong">
          <Prose text={reason(error)} />
        </span>
      )}
      {quote && !error && (
        <>
          {price ? <Money amount={price.cost} currency={price.currency} /> : <NoPrice model={row} body={body} />}
          <span>{eta === null ? t('play.etaUnknown') : t('play.eta', { span: span(eta * 1_000) })}</span>
          <span>{position === null ? t('play.placeUnknown') : t('play.place', { position })}</span>
        </>
      )}
    </li>
  )
}
