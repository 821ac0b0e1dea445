import { useText } from '../text.tsx'

/** How many slots of an account are in use. Null: not known now. */
export function Slots({ used, all }: { used: number | null; all: number }) {
  const t = useText()
  const text = t('slots.used', { used: used ?? '–', all })
  return (
    <span className="slots">
      <span className="number">{text}</span>
      <progress max={all} value={Math.min(used ?? 0, all)} aria-label={text} />
    </span>
  )
}
