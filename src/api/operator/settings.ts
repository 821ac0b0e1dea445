import {
  type ComparedSetting,
  compareOrigins,
  type RereadSettings,
  type SettingOrigin,
} from '../../core/setting-origin.ts'
import { type OperatorSetting, OperatorSettings } from '../../wire/settings.ts'
import type { Route } from '../route.ts'

export interface SettingsDependencies {
  /** Every value of the configuration, and what a start would read now. */
  settings?: { readonly origins: readonly SettingOrigin[]; reread(): RereadSettings }
}

const none = { origins: [], reread: (): RereadSettings => ({ origins: [], mistakes: [] }) }

export function settingsRoute({ settings = none }: SettingsDependencies): Route {
  return {
    at: 'GET /operator/v1/settings',
    id: 'showSettings',
    summary: 'Show the configuration',
    description:
      'Every value, where it comes from, and what a restart would change, of the process that responds. Secrets are never shown. Accounts, models and tokens that were added through this API are not part of it.',
    responses: { 200: { description: 'The values.', schema: OperatorSettings } },
    handler: async (): Promise<OperatorSettings> => {
      const { origins: next, mistakes } = settings.reread()
      const compared = compareOrigins(settings.origins, next ?? settings.origins)
      const changes = compared.filter(({ effect }) => effect !== 'same').length
      return {
        object: 'operator.settings',
        restart: { starts: next !== null, mistakes, changes },
        data: compared.map(toWireSetting),
      }
    },
  }
}

function toWireSetting(setting: ComparedSetting): OperatorSetting {
  const { name, about, source, where, text, isSecret, shown, effect, nextShown, isNextHidden } = setting
  return {
    ...{ name, object: 'operator.setting', about, source, where, is_set: text !== null, is_secret: isSecret },
    ...{ value: shown, after_restart: effect, next_value: nextShown, next_is_hidden: isNextHidden },
  }
}
