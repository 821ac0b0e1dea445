import type { ModelRow } from '../models.ts'
import { Field, Select } from '../parts/field.tsx'
import type { Draft } from '../playground.ts'
import { useText } from '../text.tsx'

interface ParameterFieldsProps {
  chosen: readonly ModelRow[]
  draft: Draft
  onChange(parameters: Draft['parameters']): void
}

type Rule = ModelRow['parameters'][string]

/** The parameters of the models. One that needs an image, or that another model lacks, says so. */
export function ParameterFields({ chosen, draft, onChange }: ParameterFieldsProps) {
  const t = useText()
  const rules = new Map<string, Rule>(chosen.flatMap(({ parameters }) => Object.entries(parameters)))
  if (rules.size === 0) return null
  const hintOf = (name: string, rule: Rule): string => {
    const having = chosen.filter(({ parameters }) => Object.hasOwn(parameters, name))
    const only = having.length < chosen.length && t('play.onlyFor', { models: having.map(({ id }) => id).join(', ') })
    const needs = isOff(rule, draft) && t('play.needsImage')
    return [rule.description, only, needs].filter(Boolean).join(' · ')
  }
  return (
    <details className="play-parameters">
      <summary>{t('model.parameters')}</summary>
      {[...rules].map(([name, rule]) => (
        <ParameterField
          key={name}
          name={name}
          rule={rule}
          hint={hintOf(name, rule)}
          isDisabled={isOff(rule, draft)}
          value={draft.parameters[name] ?? ''}
          onChange={(value) => onChange({ ...draft.parameters, [name]: value })}
        />
      ))}
    </details>
  )
}

function isOff(rule: Rule, { image, original }: Draft): boolean {
  return rule.needs_image === true && (image === null || original !== null)
}

interface ParameterFieldProps {
  name: string
  rule: Rule
  hint: string
  isDisabled: boolean
  value: string
  onChange(value: string): void
}

function ParameterField({ name, rule, hint, isDisabled, value, onChange }: ParameterFieldProps) {
  const t = useText()
  const values =
    rule.type === 'boolean'
      ? [
          { value: 'true', label: t('play.yes') },
          { value: 'false', label: t('play.no') },
        ]
      : rule.enum?.map((one) => ({ value: one, label: one }))
  if (values)
    return (
      <Select
        label={name}
        hint={hint}
        value={value}
        disabled={isDisabled}
        options={[{ value: '', label: t('play.notSet') }, ...values]}
        onChange={({ target }) => onChange(target.value)}
      />
    )
  const isNumber = rule.type === 'integer' || rule.type === 'number'
  return (
    <Field
      label={name}
      hint={hint}
      value={value}
      disabled={isDisabled}
      type={isNumber ? 'number' : rule.format === 'https' ? 'url' : 'text'}
      min={rule.minimum}
      max={rule.maximum}
      maxLength={rule.maxLength}
      step={rule.type === 'integer' ? 1 : 'any'}
      placeholder={t('play.notSet')}
      onChange={({ target }) => onChange(target.value)}
    />
  )
}
