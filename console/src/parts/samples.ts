import { useCallback } from 'react'
import type { PlayRequest } from '../playground.ts'
import { samplesOf } from '../samples.ts'
import { useClientUrl } from '../session.tsx'
import { useText } from '../text.tsx'

/** Makes code of a request to this service, by the names of tools. `image` is the name of its file. */
export function useSamples(): (request: PlayRequest, image?: string | null) => Record<string, string> {
  const t = useText()
  const origin = useClientUrl()
  return useCallback(
    (request, image = null) => {
      const lacks = (names: string) => t('play.cliLacks', { names })
      return samplesOf({ ...request, origin, image, lacks })
    },
    [t, origin],
  )
}
