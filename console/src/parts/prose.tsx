import { createElement, Fragment, type ReactNode, useEffect, useRef } from 'react'
import { Stopped, Unavailable } from '../api.ts'
import { useText } from '../text.tsx'
import { Time } from './time.tsx'

/**
 * A text of the service, in which names are `between backticks`, and times are in UTC. They are shown in the reader's
 * zone. Whatever else it has stays as it is.
 */
export function Prose({ text }: { text: string }) {
  // Every second part is a name.
  const parts = text
    .split(/`([^`]+)`/)
    .flatMap((part, at) => (at % 2 === 1 ? createElement('code', null, part) : withTimes(part)))
  return createElement(Fragment, null, ...parts)
}

function withTimes(text: string): ReactNode[] {
  // Every second part is a time.
  return text
    .split(/(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/)
    .map((part, at) =>
      at % 2 === 1 && !Number.isNaN(Date.parse(part))
        ? createElement(Time, { at: Date.parse(part), exact: true })
        : part,
    )
}

/** Why something failed: in the words of the service, if it responded. */
export function useReason(): (error: unknown) => string {
  const t = useText()
  return (error) => {
    if (error instanceof Unavailable) return error.reason ?? t('broken.lost')
    if (error instanceof Stopped) return t('creations.stopped')
    return error instanceof Error ? error.message : String(error)
  }
}

/** Why the service refused something, if it did. It is scrolled to: a form may be longer than the screen. */
export function Failure({ error }: { error: Error | null }) {
  const reason = useReason()
  const place = useRef<HTMLParagraphElement>(null)
  useEffect(() => {
    if (error) place.current?.scrollIntoView({ block: 'nearest' })
  }, [error])
  return (
    error && (
      <p ref={place} className="notice" role="alert">
        <Prose text={reason(error)} />
      </p>
    )
  )
}
