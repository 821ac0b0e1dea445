/**
 * Reads again when it is called: at once, and then once more for all calls that arrive meanwhile, after a pause. Each read
 * ends before the next one begins, so that many events can't abort every read.
 */
export function createReread(read: () => Promise<unknown>, pauseMs: number): () => void {
  let [isReading, isDue] = [false, false]
  async function readAll(): Promise<void> {
    isReading = true
    while (isDue) {
      isDue = false
      await read()
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
    isReading = false
  }
  return () => {
    isDue = true
    if (!isReading) void readAll()
  }
}
