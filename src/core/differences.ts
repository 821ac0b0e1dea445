import { formatSize, type ModelCard } from './catalog.ts'
import type { Size, Task, VideoFacts } from './task.ts'

/** Engines generate whole groups of frames. A larger difference also changes the reported `seconds`. */
const secondsAllowed = 0.5
/** Engines round each side to a multiple of 16 or 32 pixels. */
const pixelsAllowed = 16
/** Providers that accept a resolution and a ratio choose the pixels themselves. */
const shareAllowed = 0.05

type Requested = Pick<Task, 'seconds' | 'size' | 'image'>

/**
 * How a generated video differs from the request by more than its card allows: one sentence for each field. A card that
 * is no longer configured allows what an engine may do.
 */
export function describeDifferences(task: Requested, facts: VideoFacts, card: ModelCard | undefined): string[] {
  const differences: string[] = []
  if (Math.abs(facts.duration - task.seconds) > secondsAllowed)
    differences.push(`\`seconds\` was ${task.seconds}; the provider generated ${Number(facts.duration.toFixed(2))} s.`)
  if (!isSizeAllowed(task, facts, card))
    differences.push(`\`size\` was ${formatSize(task.size)}; the provider generated ${formatSize(facts)}.`)
  return differences
}

function isSizeAllowed({ size, image }: Requested, facts: VideoFacts, card: ModelCard | undefined): boolean {
  const share = card && 'shapes' in card.size ? shareAllowed : 0
  const isClose = (side: 'width' | 'height') =>
    Math.abs(facts[side] - size[side]) <= Math.max(pixelsAllowed, share * size[side])
  if (isClose('width') && isClose('height')) return true
  // A video that begins with the image has its shape.
  const follows = image !== null && 'asset' in image && card?.facts?.imageIs !== 'reference'
  return follows && Math.abs(ratioOf(facts) / ratioOf(image.size) - 1) <= shareAllowed
}

function ratioOf({ width, height }: Size): number {
  return width / height
}
