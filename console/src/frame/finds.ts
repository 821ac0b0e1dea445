import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { OperatorAccountList } from '../../../src/wire/accounts.ts'
import type { OperatorTaskList } from '../../../src/wire/operator.ts'
import type { OperatorToken } from '../../../src/wire/tokens.ts'
import type { Video } from '../../../src/wire/videos.ts'
import { accountsPath } from '../accounts.ts'
import { call, type ListPage, withQuery } from '../api.ts'
import { useMay } from '../session.tsx'
import { useSettled } from '../settled.ts'
import { tokensPath } from '../tokens.ts'
import { fromTask, fromVideo, type VideoRow } from '../videos.ts'

/* What the palette searches besides pages and models. It is read while the palette is open. */

const staleTime = 30_000
const typingMs = 250
const shortestText = 2
/** Of tokens, 100 on each. */
const mostPages = 10

/**
 * Videos whose prompt contains the text, or whose id begins with it. The service searches those of all projects by
 * prompt; of a client, and by a part of an id, the newest 100 are searched.
 */
export function useVideoFinds(text: string): readonly VideoRow[] {
  const seesAll = useMay()('see all')
  const wanted = useSettled(text, typingMs)
  const isId = wanted.startsWith('video_')
  const path = seesAll
    ? withQuery('/operator/v1/tasks', isId ? { limit: 100 } : { text: wanted, limit: 5 })
    : withQuery('/v1/videos', { limit: 100 })
  const { data = [] } = useQuery({
    queryKey: [path, 'palette'],
    enabled: wanted.length >= shortestText,
    staleTime,
    placeholderData: keepPreviousData,
    async queryFn({ signal }): Promise<VideoRow[]> {
      if (seesAll) return (await call<OperatorTaskList>(path, { signal })).data.map(fromTask)
      return (await call<ListPage<Video>>(path, { signal })).data.map(fromVideo)
    },
  })
  const isMatch = ({ id, prompt }: VideoRow) => id.startsWith(text) || prompt.toLowerCase().includes(text)
  return text.length < shortestText ? [] : data.filter(isMatch)
}

/** The tokens of an operator's service, up to 1000. */
export function useTokenFinds(): readonly OperatorToken[] {
  const seesAll = useMay()('see all')
  const { data = [] } = useQuery({
    queryKey: [tokensPath, 'palette'],
    enabled: seesAll,
    staleTime,
    async queryFn({ signal }): Promise<OperatorToken[]> {
      const all: OperatorToken[] = []
      let after: string | undefined
      for (let at = 0; at < mostPages; at += 1) {
        const page = await call<ListPage<OperatorToken>>(withQuery(tokensPath, { after, limit: 100 }), { signal })
        all.push(...page.data)
        if (!page.has_more || page.last_id === null) break
        after = page.last_id
      }
      return all
    },
  })
  return data
}

/** The names of the accounts at providers. */
export function useAccountFinds(): readonly string[] {
  const enabled = useMay()('see all')
  const { data } = useQuery<OperatorAccountList>({ queryKey: [accountsPath], enabled, staleTime })
  return data?.data.map(({ name }) => name) ?? []
}
