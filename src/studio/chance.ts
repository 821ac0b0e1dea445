import { createHash } from 'node:crypto'

/** A number in [0, 1). The text is its only source: the same prompt draws the same film on every machine. */
export type Chance = () => number

/** mulberry32 seeded by a hash: small, fast, and even enough for pictures. */
export function chanceOf(text: string): Chance {
  let state = createHash('sha256').update(text).digest().readUInt32LE(0)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let word = Math.imul(state ^ (state >>> 15), 1 | state)
    word = (word + Math.imul(word ^ (word >>> 7), 61 | word)) ^ word
    return ((word ^ (word >>> 14)) >>> 0) / 2 ** 32
  }
}

export function between(chance: Chance, low: number, high: number): number {
  return low + (high - low) * chance()
}

export function pick<T>(chance: Chance, items: readonly [T, ...T[]]): T {
  return items[Math.floor(chance() * items.length)] ?? items[0]
}

/** A line of chance over x, about -1…1 with features about 1 wide. */
export type Ridge = (x: number) => number

/** Rolling: a few sines of unrelated lengths. */
export function rollingRidge(chance: Chance): Ridge {
  const waves = [1, 1.9, 3.7].map((pitch) => ({
    pitch: pitch * between(chance, 0.85, 1.15) * 2.6,
    phase: between(chance, 0, Math.PI * 2),
    height: 0.62 / pitch,
  }))
  return (x) => waves.reduce((sum, wave) => sum + wave.height * Math.sin(x * wave.pitch + wave.phase), 0)
}

/** Jagged: straight lines between random heights, finer and smaller with each octave. */
export function jaggedRidge(chance: Chance): Ridge {
  const octaves = [1, 2.1, 4.7, 11].map((pitch) => ({
    pitch: pitch * 1.6,
    height: 0.62 / pitch ** 0.92,
    shift: between(chance, 0, 50),
    table: Array.from({ length: 64 }, () => chance() * 2 - 1),
  }))
  return (x) =>
    octaves.reduce((sum, { pitch, height, shift, table }) => {
      const at = x * pitch + shift
      const cell = Math.floor(at)
      const left = table[((cell % 64) + 64) % 64] ?? 0
      const right = table[(((cell + 1) % 64) + 64) % 64] ?? 0
      return sum + height * (left + (right - left) * (at - cell))
    }, 0)
}
