import { useQuery } from '@tanstack/react-query'
import type { OperatorStatus } from '../../src/wire/alarms.ts'

/** The operator API has no stream of events: what it shows is read again. */
export const rereadMs = 5_000

const statusPath = '/operator/v1/status'

/** The whole service on one screen, for operators. It also responds while the database does not. */
export function useStatus() {
  return useQuery<OperatorStatus>({ queryKey: [statusPath], refetchInterval: rereadMs })
}

/** How many alarms are active. On a page that does not show the status, a little late: it is read for this number alone. */
export function useAlarmCount(): number {
  const { data = 0 } = useQuery({
    queryKey: [statusPath],
    refetchInterval: 30_000,
    select: ({ alarms }: OperatorStatus) => alarms.length,
  })
  return data
}
