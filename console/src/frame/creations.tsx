import { useMutationState, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { creationKey, forgetLeftRefusal, type LeftRefusal, leftRefusalsKey, stopCreations } from '../creating.ts'
import { Confirm } from '../parts/dialog.tsx'
import { Prose } from '../parts/prose.tsx'
import { useText } from '../text.tsx'

const longestPrompt = 50

/** On every page: videos that are not created yet, with a way to stop that, and those that were refused meanwhile. */
export function Creations() {
  const t = useText()
  const filters = { mutationKey: creationKey, status: 'pending' } as const
  const failures = useMutationState({ filters, select: ({ state }) => state.failureCount })
  const isSending = failures.length > 0
  const isLate = useLate(isSending)
  const isTrying = isLate || failures.some((count) => count > 0)
  useEffect(() => {
    if (!isSending) return
    // The browser asks before the page is closed or loaded again: the request would be lost.
    const ask = (event: Event) => event.preventDefault()
    addEventListener('beforeunload', ask)
    return () => removeEventListener('beforeunload', ask)
  }, [isSending])
  const { data: refusals = [] } = useQuery<readonly LeftRefusal[]>({ queryKey: leftRefusalsKey, enabled: false })
  return (
    <>
      {isTrying && (
        <div className="lost creations">
          {t('creations.waiting')}
          <Confirm
            action={t('creations.stop')}
            title={t('creations.stopTitle')}
            text={t('creations.stopText')}
            isHarmless
            onConfirm={stopCreations}
          />
        </div>
      )}
      {refusals.map((refusal) => (
        <div key={`${refusal.model} ${refusal.prompt}`} className="notice creations" role="alert">
          <span>
            <strong>
              {t('creations.refused', { model: refusal.model, prompt: refusal.prompt.slice(0, longestPrompt) })}
            </strong>{' '}
            <Prose text={refusal.error} />
          </span>
          <button type="button" onClick={() => forgetLeftRefusal(refusal)}>
            {t('creations.dismiss')}
          </button>
        </div>
      ))}
    </>
  )
}

const lateMs = 5_000

/** Whether something has been under way for long. */
function useLate(isUnderWay: boolean): boolean {
  const [isLate, setLate] = useState(false)
  useEffect(() => {
    if (!isUnderWay) return
    const timer = setTimeout(() => setLate(true), lateMs)
    return () => {
      clearTimeout(timer)
      setLate(false)
    }
  }, [isUnderWay])
  return isLate
}
