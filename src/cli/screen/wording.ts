import type { VideoOutput } from '../../wire/videos.ts'

/** `0:07`, `12:05`, `1:02:03`. */
export function clockTime(ms: number): string {
  const total = Math.max(0, Math.floor(ms / 1000))
  const [hours, minutes, seconds] = [Math.floor(total / 3600), Math.floor(total / 60) % 60, total % 60]
  const tail = String(seconds).padStart(2, '0')
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${tail}` : `${minutes}:${tail}`
}

/** `9 s`, `3 min`, `2 h`, `4 d`. */
export function roughly(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000))
  if (seconds < 90) return `${seconds} s`
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`
  if (seconds < 36 * 3600) return `${Math.round(seconds / 3600)} h`
  return `${Math.round(seconds / 86_400)} d`
}

/** `3 min ago`, `in 23 h`, `just now`. */
export function relative(at: number, now: number): string {
  const distance = now - at
  if (Math.abs(distance) < 2_000) return 'just now'
  return distance > 0 ? `${roughly(distance)} ago` : `in ${roughly(-distance)}`
}

/** `in 23 h`, or `now` for a time that is near or in the past, because it is about to happen. */
export function ahead(at: number, now: number): string {
  return at < now + 2_000 ? 'now' : relative(at, now)
}

/** The name of a time when something expires. */
export function expiryName(at: number, now: number): string {
  return at > now ? 'expires' : 'expired'
}

/** `812 B`, `4.8 MB`. */
export function bytes(count: number): string {
  const units = ['B', 'kB', 'MB', 'GB']
  let value = count
  let unit = 0
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000
    unit += 1
  }
  return `${unit === 0 || value >= 99.95 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

/** `5.04 s, 832x480, 16 fps, h264, 1.2 MB`. */
export function describeOutput({ duration, width, height, frame_rate, codec, bytes: length }: VideoOutput): string {
  const [seconds, rate] = [duration, frame_rate].map((value) => Number(value.toFixed(2)))
  return `${seconds} s, ${width}x${height}, ${rate} fps, ${codec}, ${bytes(length)}`
}

/** `1 video`, `3 videos`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
