import type { ReactNode } from 'react'
import { useText } from '../text.tsx'
import type { Status as StatusName } from '../videos.ts'

type Tone = 'good' | 'bad' | 'busy' | 'wait'

/** A state, in a colour and in words. */
export function State({ tone, children }: { tone: Tone; children: ReactNode }) {
  return (
    <span className="status" data-tone={tone}>
      {children}
    </span>
  )
}

const tones = { queued: 'wait', in_progress: 'busy', completed: 'good', failed: 'bad' } as const

/** The status of a video; in progress, with its progress. */
export function Status({ status, progress }: { status: StatusName; progress?: number }) {
  const t = useText()
  return (
    <State tone={tones[status]}>
      {t(`status.${status}`)}
      {status === 'in_progress' && progress !== undefined && (
        <progress max={100} value={progress} aria-label={t('status.progress')} />
      )}
    </State>
  )
}
