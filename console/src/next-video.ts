import { useQuery } from '@tanstack/react-query'
import type { OperatorTaskList } from '../../src/wire/operator.ts'
import type { OperatorToken } from '../../src/wire/tokens.ts'
import type { OperatorQuote } from '../../src/wire/videos.ts'
import { call, withQuery } from './api.ts'
import { useModels } from './models.ts'
import { draftFrom, emptyDraft, quotedOf } from './playground.ts'
import { firstAllowed } from './tokens.ts'

/** The price of the next video of a token. */
export interface NextVideo {
  model: string
  cost: number
  currency: string
}

/**
 * The price of another video like the newest one of the token; without one, of a video of its first model. Undefined if
 * that is free or unknown.
 */
export function useNextVideo({ id, models: patterns, owner, spend }: OperatorToken): NextVideo | undefined {
  const { data: models } = useModels()
  const tasksPath = withQuery('/operator/v1/tasks', { token: id, limit: 1 })
  const quotePath = withQuery('/operator/v1/quote', { project: owner })
  const { data } = useQuery({
    queryKey: [quotePath, id, patterns, models?.map((one) => one.id)],
    enabled: models !== undefined && spend !== null,
    staleTime: 30_000,
    async queryFn({ signal }): Promise<NextVideo | null> {
      const known = models ?? []
      const { data: tasks, has_more: isCut } = await call<OperatorTaskList>(tasksPath, { signal })
      const newest = tasks.find(({ model }) => known.some((one) => one.id === model))
      // Its tasks are older than the service searches at once.
      if (tasks.length === 0 && isCut) return null
      const usual = firstAllowed(
        known.map((one) => one.id),
        patterns,
      )
      const model = known.find((one) => one.id === (newest?.model ?? usual))
      if (!model) return null
      const draft = newest ? draftFrom(newest, 'again', model, 0) : emptyDraft
      const hasImage = newest?.has_image ?? model.image === 'required'
      const image = hasImage && { image: 'https://image.invalid/' }
      const parameters = Object.entries(newest?.parameters ?? {}).filter(([name]) =>
        Object.hasOwn(model.parameters, name),
      )
      const body = { ...quotedOf(model, draft), ...Object.fromEntries(parameters), ...image }
      const { price } = await call<OperatorQuote>(quotePath, { method: 'POST', body, signal })
      return price && { model: model.id, ...price }
    },
  })
  return data ?? undefined
}
