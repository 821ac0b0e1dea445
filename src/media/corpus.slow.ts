import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { after, before, it } from 'node:test'
import { verifyModes } from '../core/verification.ts'
import { type FilmName, type Kind, kinds, openFilm } from './corpus.fixture.ts'
import type { EncodedFilm } from './damage.fixture.ts'
import { temporaryFolder } from './fixtures.ts'
import { verify } from './verify.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
const films = new Map<FilmName, Promise<EncodedFilm>>()

before(async () => {
  folder = await temporaryFolder()
})
after(() => folder[Symbol.asyncDispose]())

function filmOf(name: FilmName): Promise<EncodedFilm> {
  const opened = films.get(name) ?? openFilm(name, folder.file(`${films.size}.mp4`))
  films.set(name, opened)
  return opened
}

/** The same numbers in every run. */
function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

async function outcomeOf({ film, damage, tries = 1 }: Kind) {
  const path = folder.file('broken.mp4')
  const random = randomOf(1)
  const whole = await filmOf(film)
  const outcome = { full: 0, smart: 0, looks: {} as Record<string, string> }
  for (let left = tries; left > 0; left -= 1) {
    await writeFile(path, damage(whole, random))
    for (const mode of verifyModes)
      try {
        const { looks } = await verify(path, { mode })
        if (looks) outcome.looks[mode] = looks
      } catch (thrown) {
        assert.equal((thrown as { code?: string }).code, 'unsupported_output')
        outcome[mode] += 1
      }
  }
  return outcome
}

for (const kind of kinds)
  it(`${kind.film}; damage: ${kind.what}; full refuses ${kind.full} of ${kind.tries ?? 1}, smart ${kind.smart}`, async () => {
    const { full, smart, looks = {} } = kind
    assert.deepEqual(await outcomeOf(kind), { full, smart, looks })
  })
