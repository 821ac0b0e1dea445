import { createContext, type ReactNode, use, useCallback, useEffect, useState } from 'react'
import { type Language, usePreferences } from './preferences.ts'
import { loadScript } from './scripts.ts'
import { en } from './text/en.ts'

export type TextKey = keyof typeof en
type Texts = Readonly<Record<TextKey, string>>

/** Loaded when it is needed. */
const others: Readonly<Record<Exclude<Language, 'en'>, () => Promise<Texts>>> = {
  zh: async () => (await loadScript('zh', () => import('./text/zh.ts'))).zh,
}

const TextContext = createContext<{ texts: Texts; locale: string }>({ texts: en, locale: 'en-GB' })
const locales: Readonly<Record<Language, string>> = { en: 'en-GB', zh: 'zh-CN' }

/** Every text of the console comes from here, in the language of the reader. */
export function TextProvider({ children }: { children: ReactNode }) {
  const { language } = usePreferences()
  const [loaded, setLoaded] = useState<{ language: Language; texts: Texts }>({ language: 'en', texts: en })
  useEffect(() => {
    let isCurrent = true
    const load = language === 'en' ? async () => en : others[language]
    void load().then((texts) => isCurrent && setLoaded({ language, texts }))
    return () => {
      isCurrent = false
    }
  }, [language])
  return <TextContext value={{ texts: loaded.texts, locale: locales[loaded.language] }}>{children}</TextContext>
}

type Values = Readonly<Record<string, string | number>>

/** A value with marks of direction, or of a script from right to left, does not reorder the sentence around it. */
export function isolate(value: string): string {
  if (!/[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufefc]/.test(value)) return value
  return `\u2068${value.replace(/[\u2066-\u2069]/g, '')}\u2069`
}

/** The text with this key; `{name}` in it is replaced by the value. The same function until the language changes. */
export function useText(): (key: TextKey, values?: Values) => string {
  const { texts } = use(TextContext)
  return useCallback(
    (key: TextKey, values: Values = {}) =>
      texts[key].replace(/\{(\w+)\}/g, (_, name: string) => isolate(String(values[name] ?? ''))),
    [texts],
  )
}

/** For numbers and times. */
export function useLocale(): string {
  return use(TextContext).locale
}
