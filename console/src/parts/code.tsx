import { Tabs } from '@base-ui/react/tabs'
import { useState } from 'react'
import { CopyIcon } from '../frame/icons.tsx'
import { useText } from '../text.tsx'

/** Code to copy, in a tab for each language or tool. */
export function Code({ samples }: { samples: Readonly<Record<string, string>> }) {
  const names = Object.keys(samples)
  return (
    <Tabs.Root defaultValue={names[0]} className="code">
      <Tabs.List>
        {names.map((name) => (
          <Tabs.Tab key={name} value={name}>
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {Object.entries(samples).map(([name, text]) => (
        <Tabs.Panel key={name} value={name}>
          <Copy text={text} />
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long line is scrolled with the keyboard. */}
          <pre tabIndex={0}>{text}</pre>
        </Tabs.Panel>
      ))}
    </Tabs.Root>
  )
}

/** Copies a text, and says whether that worked: a browser may refuse it. */
export function Copy({ text }: { text: string }) {
  const t = useText()
  const [state, setState] = useState<'copy' | 'done' | 'refused'>('copy')
  const copy = async () => {
    const next = await navigator.clipboard.writeText(text).then(
      () => 'done' as const,
      () => 'refused' as const,
    )
    setState(next)
    setTimeout(() => setState('copy'), next === 'done' ? 2_000 : 6_000)
  }
  // Browsers offer it only over HTTPS, and on this machine.
  if (!navigator.clipboard) return null
  return (
    <button type="button" className="icon copy" onClick={() => void copy()}>
      <CopyIcon />
      <span role="status">{t(`copy.${state}`)}</span>
    </button>
  )
}
