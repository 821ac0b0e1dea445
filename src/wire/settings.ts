import { restartEffects, settingSources } from '../core/setting-origin.ts'
import { always, count, flag, listOf, orNull, type Static, shape, text } from './schema.ts'

export const OperatorSetting = shape('A value of the configuration.', {
  name: text(
    'A setting, such as `retention`; a place in filmgate.yaml, such as `accounts.main.concurrency`; or another variable.',
  ),
  object: always('operator.setting'),
  about: text('What it means; empty if nothing is known.'),
  source: { type: 'string', enum: settingSources, description: 'Where the value comes from.' },
  where: text('The flag, the variable or the file that sets it; of a default, the variable that would.'),
  is_set: flag('Whether it has a value.'),
  is_secret: flag('Whether it contains a secret. Its value is never shown then.'),
  value: orNull(text('The value, as it was written; null if it is a secret, or has none.')),
  after_restart: {
    type: 'string',
    enum: restartEffects,
    description: 'What a restart would do to it. `same` also if the process would not start.',
  },
  next_value: orNull(text('The value after a restart; null if it is a secret, or has none.')),
  next_is_hidden: flag('Whether the value after a restart is a secret.'),
})
export type OperatorSetting = Static<typeof OperatorSetting>

export const OperatorSettings = shape('Every value of the configuration of the process that responded.', {
  object: always('operator.settings'),
  restart: shape('What a restart with the same flags and variables would do: filmgate.yaml is read again.', {
    starts: flag('Whether the configuration is valid. If it is not, the process would not start.'),
    mistakes: listOf('What is wrong with it, and how to fix it.', { type: 'string' }),
    changes: count('How many values would change.'),
  }),
  data: listOf('The values: settings, other variables, then those of filmgate.yaml.', OperatorSetting),
})
export type OperatorSettings = Static<typeof OperatorSettings>

/** The keys are the names in the OpenAPI document. */
export const settingResponses = { OperatorSetting, OperatorSettings }
