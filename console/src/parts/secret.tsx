import { useEffect, useRef } from 'react'
import { useText } from '../text.tsx'
import { Code, Copy } from './code.tsx'

interface SecretProps {
  title: string
  secret: string
  /** How to use it, ready to copy. */
  samples: Readonly<Record<string, string>>
}

/** A secret that the service shows once. It is nowhere but on this page, and gets the focus. */
export function Secret({ title, secret, samples }: SecretProps) {
  const t = useText()
  const place = useRef<HTMLElement>(null)
  useEffect(() => place.current?.focus(), [])
  return (
    <section ref={place} className="secret" tabIndex={-1} aria-label={title}>
      <h2>{title}</h2>
      <p>{t('secret.once')}</p>
      <p className="id">
        <code>{secret}</code>
        <Copy text={secret} />
      </p>
      <Code samples={samples} />
    </section>
  )
}
