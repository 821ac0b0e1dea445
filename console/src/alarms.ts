import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { OperatorAlarm } from '../../src/wire/alarms.ts'
import { dataOf, type ListPage, withQuery } from './api.ts'
import { readAfter } from './search.ts'
import { rereadMs, useStatus } from './status.ts'

export const alarmStatuses = ['active', 'cleared', 'all'] as const
type AlarmStatus = (typeof alarmStatuses)[number]

/** The filters of the list. They are the query of the page's address. */
interface AlarmFilters {
  /** Active ones, unless it is set. */
  status?: AlarmStatus
  /** The last alarm of the page before. */
  after?: string
}

export function readAlarmFilters(search: Readonly<Record<string, unknown>>): AlarmFilters {
  const known = alarmStatuses.find((one) => one === search.status)
  return { ...(known && known !== 'active' && { status: known }), ...readAfter(search, /^alarm_[0-9a-f]{28}$/) }
}

export interface AlarmRow extends OperatorAlarm {
  /** False for an alarm about the database itself, which is not in it and can't be acknowledged. */
  isStored: boolean
}

/** Where something is shown, as a link of the router has it. */
export type AlarmPlace =
  | { to: '/providers/$name'; params: { name: string } }
  | { to: '/models/$'; params: { _splat: string } }
  | { to: '/tokens/$id'; params: { id: string } }
  | { to: '/tokens'; search: { project: string } }
  | { to: '/money-at-risk'; search: { show?: 'orphan' } }

/** The page of what an alarm is about; undefined if it has none, like a machine or the bucket. */
export function placeOf({ kind, subject }: Pick<OperatorAlarm, 'kind' | 'subject'>): AlarmPlace | undefined {
  switch (kind) {
    case 'account_key':
    case 'account_credit':
    case 'circuit_open':
      return { to: '/providers/$name', params: { name: subject } }
    case 'attempt_held':
      return { to: '/money-at-risk', search: {} }
    case 'orphan_cost':
      return { to: '/money-at-risk', search: { show: 'orphan' } }
    case 'limit_reached':
    case 'endpoint_dead':
      // The owner: a project, or a token without one.
      return /^tok_[0-9a-z]{12}$/.test(subject)
        ? { to: '/tokens/$id', params: { id: subject } }
        : { to: '/tokens', search: { project: subject } }
    case 'queue_old':
    case 'model_retired':
      return { to: '/models/$', params: { _splat: subject.split(' at ')[0] ?? subject } }
    default:
      return undefined
  }
}

const pageSize = 100

export function useAlarms({ status = 'active', after }: AlarmFilters) {
  const path = withQuery('/operator/v1/alarms', { status, after, limit: pageSize })
  const page = dataOf(useQuery<ListPage<OperatorAlarm>>({ queryKey: [path], refetchInterval: rereadMs }))
  const { data: service } = useStatus()
  const hasLocal = status !== 'cleared' && after === undefined
  const local = hasLocal ? service?.alarms : undefined
  const rows = useMemo(() => toAlarmRows(page, local ?? []), [page, local])
  return { rows, hasMore: page?.has_more ?? false, lastId: page?.last_id ?? null }
}

/** The stored alarms of a page, and those that only the status has. While the database does not respond, there are only the latter. */
export function toAlarmRows(
  page: ListPage<OperatorAlarm> | undefined,
  active: readonly OperatorAlarm[],
): AlarmRow[] | undefined {
  const { data = [], has_more: hasMore = false, last_id: lastId = null } = page ?? {}
  const ids = new Set(data.map(({ id }) => id))
  // Later alarms have greater ids: older ones than the last may be on a later page.
  const isElsewhere = (id: string) => ids.has(id) || (hasMore && lastId !== null && id < lastId)
  const local = active.filter(({ id }) => !isElsewhere(id)).map((alarm): AlarmRow => ({ ...alarm, isStored: false }))
  if (!page && local.length === 0) return undefined
  const stored = data.map((alarm): AlarmRow => ({ ...alarm, isStored: true }))
  return [...stored, ...local].sort((one, other) => (one.id < other.id ? 1 : -1))
}
