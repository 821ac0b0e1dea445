import {
  AV_PIX_FMT_NV12,
  AV_PIX_FMT_YUV420P,
  AV_PIX_FMT_YUV422P,
  AV_PIX_FMT_YUV444P,
  AV_PIX_FMT_YUVJ420P,
} from 'node-av/constants'
import type { Frame } from 'node-av/lib'
import type { Looks } from './media.ts'

/** Formats whose first plane has the brightness, one byte for each pixel. */
const readable: ReadonlySet<number> = new Set([
  AV_PIX_FMT_YUV420P,
  AV_PIX_FMT_YUVJ420P,
  AV_PIX_FMT_YUV422P,
  AV_PIX_FMT_YUV444P,
  AV_PIX_FMT_NV12,
])

/** A shorter video may well be one picture. */
const leastSeconds = 2
const [columns, rows] = [128, 72]
/** Black is 16, or 0 in some files. Encoders add a little noise. */
const darkest = 32
/** The same picture differs a little from frame to frame, because each is encoded anew. */
const noise = 16
/** The share of points that may differ: fewer than a small object that moves. */
const shareAllowed = 0.001

/** Notices frames that are all black, or all the same. Both are only reported: the request may have asked for them. */
export function openLooks() {
  let first: Uint8Array | undefined
  let [frames, isBlack, isFrozen] = [0, true, true]
  return {
    add(frame: Frame): void {
      if (!isBlack && !isFrozen) return
      const points = pointsOf(frame)
      first ??= points
      frames += 1
      isBlack &&= points !== undefined && isMostly(points, (point) => point <= darkest)
      isFrozen &&=
        points !== undefined && isMostly(points, (point, at) => Math.abs(point - (first?.[at] ?? 0)) <= noise)
    },
    /** One frame alone can be black, but not frozen. */
    result(seconds: number): Looks | undefined {
      if (seconds < leastSeconds || frames === 0) return undefined
      if (isBlack) return 'black'
      return frames > 1 && isFrozen ? 'frozen' : undefined
    },
  }
}

/** The brightness at evenly spaced points. */
function pointsOf({ format, width, height, data, linesize }: Frame): Uint8Array | undefined {
  const [plane, stride] = [data?.[0], linesize[0]]
  if (!readable.has(format) || !plane || stride === undefined) return undefined
  const points = new Uint8Array(columns * rows)
  for (let row = 0; row < rows; row += 1) {
    const line = Math.floor(((row + 0.5) * height) / rows) * stride
    for (let column = 0; column < columns; column += 1)
      points[row * columns + column] = plane[line + Math.floor(((column + 0.5) * width) / columns)] ?? 0
  }
  return points
}

function isMostly(points: Uint8Array, holds: (point: number, at: number) => boolean): boolean {
  let others = 0
  for (let at = 0; at < points.length; at += 1) if (!holds(points[at] ?? 0, at)) others += 1
  return others <= shareAllowed * points.length
}
