/* Where each value of the configuration comes from, and what a restart would change. */

export const settingSources = ['flag', 'variable', 'file', 'default'] as const

export interface SettingOrigin {
  /** A setting, such as `retention`; a place in filmgate.yaml, such as `accounts.main.concurrency`; or a variable. */
  readonly name: string
  /** What it means. */
  readonly about: string
  readonly source: (typeof settingSources)[number]
  /** The flag, the variable or the file that sets it; of a default, the variable that would. */
  readonly where: string
  readonly isSecret: boolean
  /** Its value, to compare; null if it has none. */
  readonly text: string | null
  /** What operators see of it; null for a secret. */
  readonly shown: string | null
}

/** What a start would read now, from the same flags and variables; null if it would fail. */
export interface RereadSettings {
  readonly origins: readonly SettingOrigin[] | null
  readonly mistakes: readonly string[]
}

export const restartEffects = ['same', 'changed', 'added', 'removed'] as const

export interface ComparedSetting extends SettingOrigin {
  readonly effect: (typeof restartEffects)[number]
  /** What operators see of the value after a restart. */
  readonly nextShown: string | null
  /** Whether there is one that they must not see. */
  readonly isNextHidden: boolean
}

/** In the order of the values now, with new ones behind them. */
export function compareOrigins(now: readonly SettingOrigin[], next: readonly SettingOrigin[]): ComparedSetting[] {
  const later = new Map(next.map((origin) => [origin.name, origin]))
  const names = new Set(now.map(({ name }) => name))
  const compared = now.map((origin): ComparedSetting => {
    const after = later.get(origin.name)
    if (!after) return { ...origin, effect: 'removed', ...nextOf(null) }
    return { ...origin, effect: after.text === origin.text ? 'same' : 'changed', ...nextOf(after) }
  })
  const added = next
    .filter(({ name }) => !names.has(name))
    .map((origin): ComparedSetting => ({ ...origin, effect: 'added', text: null, shown: null, ...nextOf(origin) }))
  return [...compared, ...added]
}

/** A value may become a secret: an address may get a password. */
function nextOf(origin: SettingOrigin | null): Pick<ComparedSetting, 'nextShown' | 'isNextHidden'> {
  const { text = null, shown = null, isSecret = false } = origin ?? {}
  return { nextShown: shown, isNextHidden: isSecret && text !== null }
}
