import { type ReactNode, useEffect, useState } from 'react'
import { isolate, useText } from '../text.tsx'

interface HeadProps {
  title: string
  /** A sentence about it. */
  about?: ReactNode
  /** Leads to the list that this is one of. */
  back?: ReactNode
  /** How it is now, and its id. */
  state?: ReactNode
  /** Actions beside the title. */
  children?: ReactNode
}

/** The beginning of a page. Its title is also that of the tab. */
export function Head({ title, about, back, state, children }: HeadProps) {
  const name = useText()('frame.name')
  useEffect(() => {
    document.title = `${isolate(cut(title))} · ${name}`
    return () => {
      document.title = name
    }
  }, [title, name])
  return (
    <header className="head">
      <div>
        {back && <p className="crumbs">{back}</p>}
        <Title title={title} />
        {state && <p className="id">{state}</p>}
        {about && <p className="quiet">{about}</p>}
      </div>
      {children}
    </header>
  )
}

/** Of the heading, which is also the name of the page for screen readers. */
export const titleId = 'title'

/** A title may be a prompt, of up to 32 000 characters. */
const [longTitle, longestTab] = [120, 60]

function cut(title: string): string {
  const signs = Array.from(title.slice(0, 2 * longestTab))
  return signs.length > longestTab
    ? `${signs
        .slice(0, longestTab - 1)
        .join('')
        .trimEnd()}…`
    : title
}

/** Three lines of a long title, and the rest on demand. */
function Title({ title }: { title: string }) {
  const t = useText()
  const [isWhole, setWhole] = useState(false)
  if (title.length <= longTitle)
    return (
      <h1 id={titleId}>
        <bdi>{title}</bdi>
      </h1>
    )
  return (
    <>
      <h1 data-cut={!isWhole || undefined}>
        <bdi>{title}</bdi>
      </h1>
      <span id={titleId} hidden>
        {cut(title)}
      </span>
      <button type="button" className="more" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
        {isWhole ? t('head.less') : t('head.more')}
      </button>
    </>
  )
}
