import { type ReactNode, useEffect, useRef } from 'react'

/** What a list shows. Each filter is part of the page's address. */
export function Filters({ children }: { children: ReactNode }) {
  return (
    <form className="filters" onSubmit={(event) => event.preventDefault()}>
      {children}
    </form>
  )
}

interface ChoiceProps<Value> {
  label: string
  value: Value
  values: readonly Value[]
  nameOf(value: Value): string
  onChange(value: Value): void
}

export function FilterChoice<Value extends string | number>(props: ChoiceProps<Value>) {
  const { label, value, values, nameOf, onChange } = props
  return (
    <label>
      {label}
      <select
        value={value}
        onChange={({ target }) => {
          const chosen = values.find((one) => String(one) === target.value)
          if (chosen !== undefined) onChange(chosen)
        }}
      >
        {values.map((one) => (
          <option key={one} value={one}>
            {nameOf(one)}
          </option>
        ))}
      </select>
    </label>
  )
}

interface TextProps {
  label: string
  /** Empty: no filter. */
  value: string
  type?: 'text' | 'date'
  onChange(value: string): void
}

/** It is applied by Enter, or when the field is left. */
export function FilterText({ label, value, type = 'text', onChange }: TextProps) {
  const field = useRef<HTMLInputElement>(null)
  // The address may change in another way. The field stays the same one, and so keeps the focus.
  useEffect(() => {
    if (field.current) field.current.value = value
  }, [value])
  const set = (text: string) => text.trim() !== value && onChange(text.trim())
  return (
    <label>
      {label}
      <input
        ref={field}
        type={type}
        defaultValue={value}
        onBlur={({ target }) => set(target.value)}
        // With an input method, Enter also ends a word.
        onKeyDown={({ key, nativeEvent, currentTarget }) =>
          key === 'Enter' && !nativeEvent.isComposing && set(currentTarget.value)
        }
      />
    </label>
  )
}
