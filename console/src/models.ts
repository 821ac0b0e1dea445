import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import type { OperatorModel, OperatorModelList } from '../../src/wire/declared-models.ts'
import type { Model } from '../../src/wire/models.ts'
import { call } from './api.ts'
import { useMay } from './session.tsx'

/** A model, and for operators where it comes from and who generates its videos. */
export interface ModelRow extends Model {
  operator: Pick<OperatorModel, 'source' | 'routes' | 'settings'> | null
}

const ownPath = '/v1/models'
const staleTime = 30_000

/** `rereadMs`: they are read again that often, on a page that waits for changes. */
export function useModels(rereadMs: number | false = false): UseQueryResult<ModelRow[]> {
  const seesAll = useMay()('see all')
  const path = seesAll ? '/operator/v1/models' : ownPath
  return useQuery({
    queryKey: [path],
    staleTime,
    refetchInterval: rereadMs,
    async queryFn({ signal }): Promise<ModelRow[]> {
      if (!seesAll) return readOwn(signal)
      const { data } = await call<OperatorModelList>(path, { signal })
      return data.map(({ accepts, source, routes, settings }) => ({
        ...accepts,
        operator: { source, routes, settings },
      }))
    },
  })
}

/** The models that videos can be created with here: an operator's client token may have fewer than all. */
export function useOwnModels(): UseQueryResult<ModelRow[]> {
  return useQuery({ queryKey: [ownPath], staleTime, queryFn: ({ signal }) => readOwn(signal) })
}

async function readOwn(signal: AbortSignal): Promise<ModelRow[]> {
  const { data } = await call<{ data: readonly Model[] }>(ownPath, { signal })
  return data.map((model) => ({ ...model, operator: null }))
}

export type Prices = NonNullable<Model['price']>

/** Whether its provider charges nothing for any video or, if that is hidden, its videos cost nothing. */
export function isFree({ price, facts }: Pick<Model, 'price' | 'facts'>): boolean {
  const { lines = [] } = facts?.price ?? price ?? {}
  return lines.length > 0 && lines.every(({ price }) => Number(price) === 0)
}

/** `1280x720` as numbers. */
export function sidesOf(size: string): { width: number; height: number } {
  const [width = 0, height = 0] = size.split('x').map(Number)
  return { width, height }
}
