import type { Told } from '../feed.ts'
import { type Heard, type Telling, tellInTurn } from './replay.ts'

/** Items that arrive while a client still receives older ones. */
interface Backlog {
  receive(item: FeedItem): void
  isLive(): boolean
  /** Sends all items so far, except these numbers. From then on each item is sent when it arrives. */
  goLive(except: ReadonlySet<number>): Promise<void>
}

/** A client that is further behind is disconnected. The store keeps what it has not received. */
const mostPending = 1_000

function openBacklog(receiver: Receiver): Backlog {
  const { client, send } = receiver
  let early: PendingItem[] | undefined = []
  return {
    receive(item) {
      if (!early) send(item)
      else if (early.length < mostPending) early.push({ notice: item.notice, id: item.id })
      else client.drop()
    },
    isLive: () => !early,
    async goLive(except) {
      while (early?.length && !client.isGone()) {
        const pending = early.splice(0).filter(({ notice }) => !except.has(notice.number))
        await sendInTurns(pending, receiver)
      }
      early = undefined
    },
  }
}
