import type { Terminal } from '../terminal.ts'
import { openLive } from './live.ts'
import { openPlain } from './plain.ts'
import type { Progress } from './row.ts'

/** `quiet`: lines for each change of status only, where many films run at once. */
export function openProgress(terminal: Terminal, { quiet = false }: { quiet?: boolean } = {}): Progress {
  return terminal.live ? openLive(terminal) : openPlain(terminal, { quiet })
}
