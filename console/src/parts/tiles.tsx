import type { ReactNode } from 'react'

export interface Tile {
  name: string
  value: ReactNode
  hint?: ReactNode
  /** Shown as something that is wrong. */
  isBad?: boolean
}

/** A few numbers to see at once. */
export function Tiles({ tiles }: { tiles: readonly Tile[] }) {
  return (
    <dl className="tiles">
      {tiles.map(({ name, value, hint, isBad = false }) => (
        <div key={name} data-bad={isBad || undefined}>
          <dt>{name}</dt>
          <dd>{value}</dd>
          {hint && <dd className="quiet">{hint}</dd>}
        </div>
      ))}
    </dl>
  )
}
