/** The source of the texts that the expressions of a file read, if that is never a client. All others must be linear. */
export const trusted: readonly (readonly [files: RegExp, reason: string])[] = [
  [/(\.test|\.slow|\.services|\.fixture|\/contract)\.ts$|\/stores\/contract\//, 'part of a test'],
  [/^src\/cli\//, "runs on a user's own machine, on their own arguments"],
  [/^src\/config(\/|\.ts$)/, "reads the operator's environment and filmgate.yaml at the start"],
  [/^src\/migrate\//, "reads the operator's arguments"],
]

/** Why the expressions of that file never read what a client sent; undefined if they may. */
export function trustOf(file: string): string | undefined {
  return trusted.find(([files]) => files.test(file))?.[1]
}
