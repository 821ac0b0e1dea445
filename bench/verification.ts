import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Size } from '../src/core/task.ts'
import type { VerifyMode } from '../src/core/verification.ts'
import { encode, type Picture } from '../src/media/encode.fixture.ts'
import type { Media } from '../src/media/media.ts'
import { openMedia } from '../src/media/pool.ts'
import { cpuSeconds } from './cpu.ts'
import { compare, type Line } from './measure.ts'

const { signal } = new AbortController()
const prompt = 'a red fox in snow at dusk'
const [small, large] = [
  { width: 1280, height: 720 },
  { width: 1920, height: 1080 },
]
const seconds = 4

/** Broad waves that move, and a little grain, as a camera shows them. */
const waves: Picture = (x, y, frame) =>
  Math.round(
    120 + 60 * Math.sin((x + 4 * frame) / 90) + 40 * Math.sin((y - 2 * frame) / 50) + ((x * 31 + y * 17 + frame) % 5),
  )

const other = { size: small, frames: 24 * seconds, picture: waves }

interface BenchFilm {
  name: string
  make(path: string, media: Media): Promise<unknown>
  /** Most of its CPU time is for key frames, so it has no limit. */
  isKeyHeavy?: true
}

const drawn = (size: Size) => (path: string, media: Media) =>
  media.render({ path, prompt, seconds, size, image: null }, () => {}, signal)

const films: readonly BenchFilm[] = [
  { name: 'studio, 1280x720', make: drawn(small) },
  { name: 'studio, 1920x1080', make: drawn(large) },
  {
    name: 'x264 as most tools use it, with sound, 1280x720',
    make: (path) => encode(path, { ...other, gop: 250, options: { preset: 'medium', crf: 23 }, hasSound: true }),
  },
  {
    name: 'four slices and a key frame each second, 1280x720',
    make: (path) => encode(path, { ...other, gop: 24, options: { profile: 'baseline', slices: 4, b: 6_000_000 } }),
    isKeyHeavy: true,
  },
]

/** The CPU time of `smart` as a share of that of `full`, in the same child and in turn. */
export async function benchVerification(folder: string, { rounds }: { rounds: number }): Promise<Line[]> {
  const clock = { now: () => Date.now(), sleep: () => new Promise<void>(() => {}) }
  await using media = openMedia({ clock, renderers: 1 })
  mkdirSync(folder, { recursive: true })
  const lines: Line[] = []
  for (const { name, make, isKeyHeavy } of films) {
    const path = join(folder, `${lines.length}.mp4`)
    await make(path, media)
    const used = () => media.children().reduce((sum, { pid }) => sum + cpuSeconds(pid), 0)
    const msOf = async (mode: VerifyMode, repetitions: number) => {
      const before = used()
      for (let left = repetitions; left > 0; left -= 1) await media.verify(path, 'bench', signal, { mode })
      return ((used() - before) * 1000) / repetitions
    }
    for (const mode of ['full', 'smart'] as const) await msOf(mode, 2)
    // CPU time is counted in hundredths of a second, so that the shorter one is repeated more often.
    const { ratio, spread, ours, limit } = await compare(
      rounds,
      () => msOf('smart', 10),
      () => msOf('full', 3),
    )
    lines.push({
      name: `verify: smart, ${name}`,
      value: ratio,
      unit: ' ×',
      ...(!isKeyHeavy && { must: { atMost: 0.25 } }),
      spread,
      detail: `of the CPU of full; ${Math.round(ours)} against ${Math.round(limit)} ms, ${seconds} s of video`,
    })
  }
  return lines
}
