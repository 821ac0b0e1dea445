/** Counts the bytes that wait in the streams of each token because their clients do not read them. */
export interface Unread {
  /** Sets how many bytes wait in a stream. `drop` closes that stream, and identifies it. */
  set(owner: string, drop: () => void, bytes: number): void
}

interface Held {
  bytes: number
  streams: Map<() => void, number>
}

/** If more bytes wait in all streams of a token, the stream with the most is closed. */
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
