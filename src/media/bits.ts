export type Bits = ReturnType<typeof openBits>

/** Reads the bits of an H.264 unit. Throws a RangeError at its end. */
export function openBits(unit: Buffer) {
  // An escape byte 3 follows two zero bytes if the next byte is 0 to 3. It is not part of the data.
  const bytes = unit.filter((byte, at) => !(byte === 3 && at >= 2 && unit[at - 1] === 0 && unit[at - 2] === 0))
  let at = 0
  const read = (length: number): number => {
    let value = 0
    for (let left = length; left > 0; left -= 1, at += 1) {
      const byte = bytes[at >> 3]
      if (byte === undefined) throw new RangeError('the unit ends too early')
      value = value * 2 + ((byte >> (7 - (at & 7))) & 1)
    }
    return value
  }
  /** An unsigned Exp-Golomb number: as many zeros as it has digits after the first. */
  const count = (): number => {
    let zeros = 0
    while (read(1) === 0) zeros += 1
    return 2 ** zeros - 1 + read(zeros)
  }
  const signed = (): number => {
    const value = count()
    return value % 2 === 1 ? (value + 1) / 2 : -value / 2
  }
  return { read, count, signed, skip: (length: number) => void read(length) }
}
