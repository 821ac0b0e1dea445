import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import { useMemo } from 'react'
import type { OperatorSetting, OperatorSettings } from '../../../src/wire/settings.ts'
import { dataOf } from '../api.ts'
import { NotFound } from '../frame/frame.tsx'
import { Empty } from '../parts/empty.tsx'
import { FilterChoice, Filters, FilterText } from '../parts/filters.tsx'
import { Head } from '../parts/head.tsx'
import { Prose } from '../parts/prose.tsx'
import { columnFor, Table } from '../parts/table.tsx'
import { useMay } from '../session.tsx'
import { fitsSetting, type SettingFilters, settingChoices } from '../settings.ts'
import { useText } from '../text.tsx'

const route = getRouteApi('/settings')

/** The file may be edited while the page is shown. */
const rereadMs = 10_000

export function SettingsPage() {
  return useMay()('see all') ? <Settings /> : <NotFound />
}

function Settings() {
  const t = useText()
  const filters = route.useSearch()
  const columns = useColumns()
  const data = dataOf(useQuery<OperatorSettings>({ queryKey: ['/operator/v1/settings'], refetchInterval: rereadMs }))
  const rows = useMemo(() => data?.data.filter((setting) => fitsSetting(setting, filters)), [data, filters])
  return (
    <>
      <Head title={t('nav.settings')} about={t('settings.about')} />
      {data && <Restart restart={data.restart} />}
      <Choices filters={filters} />
      <Table
        label={t('nav.settings')}
        rows={rows}
        columns={columns}
        idOf={({ name }) => name}
        empty={
          <Empty
            title={t('settings.none')}
            text={t('settings.noneText')}
            action={<Link to="/settings">{t('settings.showAll')}</Link>}
          />
        }
      />
    </>
  )
}

/** What a restart would do. */
function Restart({ restart: { starts, mistakes, changes } }: Pick<OperatorSettings, 'restart'>) {
  const t = useText()
  if (starts && changes === 0) return <p className="quiet">{t('settings.restartSame')}</p>
  if (starts)
    return (
      <p className="notice mild" role="status">
        {t('settings.restartChanges', { count: changes })}{' '}
        <Link to="/settings" search={{ show: 'changed' }}>
          {t('settings.showChanged')}
        </Link>
      </p>
    )
  return (
    <div className="notice" role="status">
      <p>{t('settings.restartFails')}</p>
      <ul className="mistakes">
        {mistakes.map((mistake) => (
          <li key={mistake}>
            <Prose text={mistake} />
          </li>
        ))}
      </ul>
    </div>
  )
}

/** Each is part of the address. */
function Choices({ filters }: { filters: SettingFilters }) {
  const t = useText()
  const navigate = route.useNavigate()
  const set = (name: keyof SettingFilters, value: string) => {
    const { [name]: _, ...others } = filters
    void navigate({ search: { ...others, ...(value && { [name]: value }) }, replace: true })
  }
  return (
    <Filters>
      <FilterChoice
        label={t('settings.show')}
        value={filters.show ?? 'all'}
        values={settingChoices}
        nameOf={(one) => t(`settings.show.${one}`)}
        onChange={(one) => set('show', one === 'all' ? '' : one)}
      />
      <FilterText label={t('settings.search')} value={filters.text ?? ''} onChange={(text) => set('text', text)} />
    </Filters>
  )
}

function useColumns(): ColumnDef<OperatorSetting>[] {
  const t = useText()
  return useMemo(() => {
    const column = columnFor<OperatorSetting>()
    return [
      column('setting', t('settings.setting'), ({ name, about }) => (
        <>
          <code>{name}</code>
          <small className="quiet">
            <Prose text={about} />
          </small>
        </>
      )),
      column('value', t('settings.value'), ({ value, is_secret: isSecret, is_set: isSet }) => (
        <Value value={value} isHidden={isSecret && isSet} />
      )),
      column('source', t('settings.source'), ({ source, where }) => (
        <>
          {t(`settings.source.${source}`)}
          <small className="quiet code-name">{where}</small>
        </>
      )),
      column('restart', t('settings.restart'), (setting) => <AfterRestart setting={setting} />),
    ]
  }, [t])
}

function Value({ value, isHidden }: { value: string | null; isHidden: boolean }) {
  const t = useText()
  if (isHidden) return <span className="quiet">{t('settings.secret')}</span>
  return value === null ? <span className="quiet">{t('settings.notSet')}</span> : <code>{value}</code>
}

function AfterRestart({ setting }: { setting: OperatorSetting }) {
  const t = useText()
  const { after_restart: effect, next_value: value, next_is_hidden: isHidden } = setting
  if (effect === 'same') return <span className="quiet">{t('settings.effect.same')}</span>
  return (
    <span className="effect">
      {t(`settings.effect.${effect}`)} {effect !== 'removed' && <Value value={value} isHidden={isHidden} />}
    </span>
  )
}
