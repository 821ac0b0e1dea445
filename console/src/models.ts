import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import type { OperatorModel, OperatorModelList } from '../../src/wire/declared-models.ts'
import type { Model } from '../../src/wire/models.ts'
import { call } from './api.ts'
import { useMay } from './session.tsx'

/** A model, and for operators where it comes from, who generates its videos, and what that costs. */
export interface ModelRow extends Model {
  operator: Pick<OperatorModel, 'source' | 'routes' | 'settings' | 'cost'> | null
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
      return data.map(({ accepts, source, routes, settings, cost }) => ({
        ...accepts,
        operator: { source, routes, settings, cost },
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

/** What its provider charges, for operators whose clients pay something else. */
export function costOf({ price, operator }: ModelRow): Prices | null {
  const cost = operator?.cost ?? null
  return JSON.stringify(cost?.lines) === JSON.stringify(price?.lines) ? null : cost
}

/** Whether no video costs anything. */
export function isFree({ price, operator }: Pick<ModelRow, 'price' | 'operator'>): boolean {
  const lines = [...(price?.lines ?? []), ...(operator?.cost?.lines ?? [])]
  return lines.length > 0 && lines.every(({ price }) => Number(price) === 0)
}

/** `1280x720` as numbers. */
export function sidesOf(size: string): { width: number; height: number } {
  const [width = 0, height = 0] = size.split('x').map(Number)
  return { width, height }
}
