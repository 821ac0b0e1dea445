/** How many bytes wait in the streams of each token because their clients do not read them. */
export interface Unread {
  /** What waits in a stream now; `drop` is how to end that stream, and tells it from the others. */
  set(owner: string, drop: () => void, bytes: number): void
}

interface Held {
  bytes: number
  streams: Map<() => void, number>
}

/** Where a token has more than that in all its streams, the stream that holds most is let go. */
export function openUnread(mostOfOne = 32 * 2 ** 20): Unread {
  const owners = new Map<string, Held>()
  return {
    set(owner, drop, bytes) {
      const held = owners.get(owner) ?? { bytes: 0, streams: new Map<() => void, number>() }
      held.bytes += bytes - (held.streams.get(drop) ?? 0)
      if (bytes > 0) held.streams.set(drop, bytes)
      else held.streams.delete(drop)
      if (held.streams.size > 0) owners.set(owner, held)
      else owners.delete(owner)
      if (held.bytes > mostOfOne) largestOf(held.streams)?.()
    },
  }
}

function largestOf(streams: ReadonlyMap<() => void, number>): (() => void) | undefined {
  let [largest, most]: [(() => void) | undefined, number] = [undefined, 0]
  for (const [drop, bytes] of streams) if (bytes > most) [largest, most] = [drop, bytes]
  return largest
}
