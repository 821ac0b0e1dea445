import type { FastifyRequest } from 'fastify'
import { describeAlarm, isAlarmId } from '../../core/alarms.ts'
import type { Clock } from '../../core/clock.ts'
import { Problem } from '../../core/problem.ts'
import type { AlarmStore } from '../../stores/store.ts'
import type { Log } from '../../telemetry/log.ts'
import { ListAlarmsQuery, OperatorAlarm, OperatorAlarmList } from '../../wire/alarms.ts'
import { defineRoute, pathParam, type QueryRequest, type Route } from '../route.ts'
import { readLimit, refuseForeignCursor } from '../validation.ts'
import { toWirePage } from '../wire.ts'
import { auditOf } from './audit.ts'

interface AlarmDependencies {
  store: Pick<AlarmStore, 'alarms' | 'acknowledgeAlarm'>
  clock: Clock
  log: Log
}

export function alarmRoutes(dependencies: AlarmDependencies): Route[] {
  return [
    defineRoute({
      at: 'GET /operator/v1/alarms',
      id: 'listAlarms',
      summary: 'List alarms',
      description:
        'What an operator has to know, the newest first, each with a cause and a first aid. An alarm clears by itself when its cause is gone. Alarms about the database itself are only in `GET /operator/v1/status`.',
      query: { schema: ListAlarmsQuery },
      responses: { 200: { description: 'One page.', schema: OperatorAlarmList } },
      errors: ['invalid_value', 'unknown_parameter', 'storage_unavailable'],
      handler: listAlarms(dependencies),
    }),
    {
      at: 'POST /operator/v1/alarms/:id/acknowledge',
      id: 'acknowledgeAlarm',
      summary: 'Acknowledge an alarm',
      description: 'Shows others that you have seen it. It stays active until its cause is gone.',
      path: { alarm_id: 'The id of the alarm.' },
      responses: { 200: { description: 'The alarm.', schema: OperatorAlarm } },
      errors: ['alarm_not_found', 'storage_unavailable'],
      handler: acknowledgeAlarm(dependencies),
    },
  ]
}

function listAlarms({ store }: AlarmDependencies) {
  return async (request: QueryRequest<ListAlarmsQuery>) => {
    const { status = 'active', after } = request.query
    const limit = readLimit(request, ListAlarmsQuery)
    refuseForeignCursor(after, { isId: isAlarmId, of: 'an alarm' })
    const found = await store.alarms({ status, limit: limit + 1, ...(after !== undefined && { after }) })
    return toWirePage(found.slice(0, limit).map(describeAlarm), { hasMore: found.length > limit })
  }
}

function acknowledgeAlarm({ store, clock, log }: AlarmDependencies) {
  return async (request: FastifyRequest): Promise<OperatorAlarm> => {
    const id = pathParam(request, 'id')
    const at = clock.now()
    const by = request.token.name
    const change = { at, action: 'alarm.acknowledge', target: id } as const
    const entry = auditOf(request, { ...change, before: null, after: { acknowledged_by: by } })
    // PostgreSQL stores no NUL, and no id has one.
    const alarm = id.includes('\0') ? undefined : await store.acknowledgeAlarm(id, { by, at }, entry)
    if (!alarm) throw new Problem('alarm_not_found', `There is no alarm '${id.slice(0, 100)}'.`, { param: 'id' })
    log.info('alarm acknowledged', {
      request: request.id,
      alarm: id,
      kind: alarm.kind,
      subject: alarm.subject,
      operator: by,
    })
    return describeAlarm(alarm)
  }
}
