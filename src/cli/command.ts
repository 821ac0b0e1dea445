import type { Terminal } from './terminal.ts'

/** One command in one file. It returns the exit code, or throws a `Failure` that knows its own. */
export interface Command {
  /** What `--help` prints. */
  readonly help: string
  run(args: string[], terminal: Terminal): Promise<number>
}
