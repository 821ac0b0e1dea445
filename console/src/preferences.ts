import { useSyncExternalStore } from 'react'

/* What this browser remembers: nothing that is secret. */

export const themes = ['system', 'light', 'dark'] as const
type Theme = (typeof themes)[number]

export const languages = { en: 'English', zh: '简体中文' } as const
export type Language = keyof typeof languages

interface Preferences {
  theme: Theme
  language: Language
}

const key = 'filmgate'
const listeners = new Set<() => void>()
let current = read()

function read(): Preferences {
  const usual: Preferences = { theme: 'system', language: navigator.language.startsWith('zh') ? 'zh' : 'en' }
  try {
    const { theme, language } = JSON.parse(localStorage.getItem(key) ?? '{}')
    return {
      theme: themes.find((one) => one === theme) ?? usual.theme,
      language: Object.hasOwn(languages, language) ? language : usual.language,
    }
  } catch {
    // The browser may refuse storage.
    return usual
  }
}

export function setPreferences(change: Partial<Preferences>): void {
  current = { ...current, ...change }
  try {
    localStorage.setItem(key, JSON.stringify(current))
  } catch {}
  applyPreferences()
  for (const listener of listeners) listener()
}

/** Before the first paint, and at each change. */
export function applyPreferences(): void {
  document.documentElement.dataset.theme = current.theme
  document.documentElement.lang = current.language === 'zh' ? 'zh-Hans' : 'en'
}

export function usePreferences(): Preferences {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => current,
  )
}
