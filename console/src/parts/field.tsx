import {
  createContext,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  use,
  useEffect,
  useId,
  useRef,
} from 'react'
import { useText } from '../text.tsx'
import { Prose } from './prose.tsx'

interface Labels {
  label: string
  hint?: string | undefined
  error?: string | undefined
}

interface Option {
  value: string
  label: string
  /** It can't be chosen; its label says why. */
  isRefused?: boolean
}

type FieldProps = Labels & InputHTMLAttributes<HTMLInputElement>
type SelectProps = Labels & { options: readonly Option[] } & Omit<SelectHTMLAttributes<HTMLSelectElement>, 'children'>

/** The field of the form around it whose value was refused, and why. */
export const RefusedField = createContext<{ name: string; why: string } | null>(null)

/** A field of a form, with its label, a hint, and what is wrong with its value. */
export function Field({ label, hint, error: own, ...input }: FieldProps) {
  const error = useError(own, input.name)
  const { id, about, notes } = useNotes(hint, error)
  const place = useFocus<HTMLInputElement>(error)
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input {...input} ref={place} id={id} aria-invalid={error !== undefined} aria-describedby={about} />
      {notes}
    </div>
  )
}

/** The same with a few possible values. */
export function Select({ label, hint, error: own, options, ...select }: SelectProps) {
  const error = useError(own, select.name)
  const { id, about, notes } = useNotes(hint, error)
  const place = useFocus<HTMLSelectElement>(error)
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select {...select} ref={place} id={id} aria-invalid={error !== undefined} aria-describedby={about}>
        {options.map((option) => (
          <option key={option.value} value={option.value} disabled={option.isRefused ?? false}>
            {option.label}
          </option>
        ))}
      </select>
      {notes}
    </div>
  )
}

/** A box to tick. */
export function Check({ label, ...input }: Pick<FieldProps, 'label' | 'name' | 'value' | 'defaultChecked'>) {
  return (
    <label className="check">
      <input {...input} type="checkbox" />
      {label}
    </label>
  )
}

/** What the star of a label means. It is shown only in a form that has one. */
export function RequiredNote() {
  const t = useText()
  return <p className="quiet required-note">{t('form.required')}</p>
}

function useError(own: string | undefined, name: string | undefined): string | undefined {
  const refused = use(RefusedField)
  return own ?? (refused !== null && refused.name === name ? refused.why : undefined)
}

/** The field whose value was refused has the focus, and is on the screen with the reason. */
function useFocus<Element extends HTMLElement>(error: string | undefined) {
  const place = useRef<Element>(null)
  useEffect(() => {
    if (error === undefined) return
    place.current?.focus()
    place.current?.closest('.field')?.scrollIntoView({ block: 'nearest' })
  }, [error])
  return place
}

function useNotes(hint: string | undefined, error: string | undefined) {
  const id = useId()
  const about = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ') || undefined
  const notes: ReactNode = (
    <>
      {hint && (
        <p id={`${id}-hint`} className="quiet">
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} className="wrong" role="alert">
          <Prose text={error} />
        </p>
      )}
    </>
  )
  return { id, about, notes }
}
