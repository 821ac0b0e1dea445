import { useCallback, useState } from 'react'

/* Videos that play in step: the longest one leads, and the others follow it. A shorter one waits at its end. */

interface InStep {
  isPlaying: boolean
  /** In seconds, of the longest. */
  at: number
  length: number
  /** The `ref` of each video. */
  attach(element: HTMLVideoElement | null): (() => void) | undefined
  setPlaying(isPlaying: boolean): void
  seek(at: number): void
}

const changes = ['loadedmetadata', 'play', 'pause', 'timeupdate', 'seeked'] as const
/** Browsers report the time about four times a second. */
const driftSeconds = 0.15

export function useInStep(): InStep {
  const [elements] = useState(() => new Set<HTMLVideoElement>())
  const [state, setState] = useState({ isPlaying: false, at: 0, length: 0 })
  const attach = useCallback(
    (element: HTMLVideoElement | null) => {
      if (!element) return
      elements.add(element)
      const onChange = () => setState(follow(elements))
      const onEnded = () => element === leaderOf(elements) && restart(elements)
      for (const name of changes) element.addEventListener(name, onChange)
      element.addEventListener('ended', onEnded)
      return () => {
        elements.delete(element)
        for (const name of changes) element.removeEventListener(name, onChange)
        element.removeEventListener('ended', onEnded)
      }
    },
    [elements],
  )
  const setPlaying = (isPlaying: boolean) => {
    for (const element of elements) {
      if (isPlaying) play(element)
      else element.pause()
    }
  }
  const seek = (at: number) => {
    for (const element of elements) element.currentTime = Math.min(at, lengthOf(element))
  }
  return { ...state, attach, setPlaying, seek }
}

function lengthOf({ duration }: HTMLVideoElement): number {
  return Number.isFinite(duration) ? duration : 0
}

/** A browser may refuse, or the video may be removed meanwhile. */
function play(element: HTMLVideoElement): void {
  element.play().catch(() => {})
}

function leaderOf(elements: ReadonlySet<HTMLVideoElement>): HTMLVideoElement | undefined {
  return [...elements].toSorted((a, b) => lengthOf(b) - lengthOf(a))[0]
}

function restart(elements: ReadonlySet<HTMLVideoElement>): void {
  for (const element of elements) {
    element.currentTime = 0
    play(element)
  }
}

/** Brings the others to where the leader is. */
function follow(elements: ReadonlySet<HTMLVideoElement>): Pick<InStep, 'isPlaying' | 'at' | 'length'> {
  const leader = leaderOf(elements)
  if (!leader) return { isPlaying: false, at: 0, length: 0 }
  const isPlaying = !leader.paused
  for (const element of elements) {
    if (element === leader || lengthOf(element) === 0) continue
    const wanted = Math.min(leader.currentTime, lengthOf(element))
    if (!element.seeking && Math.abs(element.currentTime - wanted) > driftSeconds) element.currentTime = wanted
    if (!isPlaying) element.pause()
    else if (element.paused && wanted < lengthOf(element)) play(element)
  }
  return { isPlaying, at: leader.currentTime, length: lengthOf(leader) }
}
