import type { ReactNode } from 'react'

/** In place of a list or a page that has nothing to show: what it is, and the next step. */
export function Empty({ title, text, action }: { title: string; text: string; action?: ReactNode }) {
  return (
    <section className="empty">
      <h2>{title}</h2>
      <p>{text}</p>
      {action}
    </section>
  )
}
