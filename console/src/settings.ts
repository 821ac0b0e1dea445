import type { OperatorSetting } from '../../src/wire/settings.ts'
import { readTexts } from './search.ts'

export const settingChoices = ['all', 'set', 'changed'] as const
type SettingChoice = (typeof settingChoices)[number]

/** The filters of the list. They are the query of the page's address. */
export interface SettingFilters {
  /** All values, unless it is set. */
  show?: SettingChoice
  text?: string
}

export function readSettingFilters(search: Readonly<Record<string, unknown>>): SettingFilters {
  const known = settingChoices.find((one) => one === search.show)
  return { ...(known && known !== 'all' && { show: known }), ...readTexts(search, ['text']) }
}

export function fitsSetting(setting: OperatorSetting, { show = 'all', text = '' }: SettingFilters): boolean {
  if (show === 'set' && setting.source === 'default') return false
  if (show === 'changed' && setting.after_restart === 'same') return false
  const wanted = text.toLowerCase()
  return [setting.name, setting.where, setting.about].some((one) => one.toLowerCase().includes(wanted))
}
