import type { Told } from '../feed.ts'
import { type Heard, type Telling, tellInTurn } from './replay.ts'

/** What a client hears while it is still being told what was before. */
interface Backlog {
  hear(told: Told): void
  isLive(): boolean
  /** Tells all that was heard so far, but for these numbers; from then on each thing is told when it is heard. */
  goLive(but: ReadonlySet<number>): Promise<void>
}

/** Whoever is so far behind is let go: what it has not heard is kept in the store, not here. */
const mostHeard = 1_000

export function openBacklog(telling: Telling): Backlog {
  const { client, tell } = telling
  let early: Heard[] | undefined = []
  return {
    hear(told) {
      if (!early) tell(told)
      else if (early.length < mostHeard) early.push({ notice: told.notice, id: told.id })
      else client.drop()
    },
    isLive: () => !early,
    async goLive(but) {
      while (early?.length && !client.isGone()) {
        const heard = early.splice(0).filter(({ notice }) => !but.has(notice.number))
        await tellInTurn(heard, telling)
      }
      early = undefined
    },
  }
}
