import { type DownloadFault, downloadFaults } from './download-faults.ts'
import { type FindFault, findFaults, type PollFault, pollFaults } from './poll-faults.ts'
import { type SubmitFault, submitFaults } from './submit-faults.ts'

/** Faults are data, so that a test can run all of them. */
export interface Fault {
  /** Begins with the kind of request. For a submit, it ends with what happens to the job. */
  readonly name: string
  /** Whether the job is accepted. True for everything but submits. */
  readonly accepted: boolean | 'maybe'
  readonly description: string
}

export interface FaultsByKind {
  submit: SubmitFault
  poll: PollFault
  find: FindFault
  download: DownloadFault
}
export type FaultKind = keyof FaultsByKind

export { downloadFaults, findFaults, pollFaults, submitFaults }

export const faultsByKind: { readonly [Kind in FaultKind]: readonly FaultsByKind[Kind][] } = {
  submit: submitFaults,
  poll: pollFaults,
  find: findFaults,
  download: downloadFaults,
}

const kinds = new Map<string, FaultKind>()
for (const kind of ['submit', 'poll', 'find', 'download'] as const)
  for (const { name } of faultsByKind[kind]) kinds.set(name, kind)

export function kindOf(name: string): FaultKind | undefined {
  return kinds.get(name)
}

export function faultNamed<Kind extends FaultKind>(kind: Kind, name: string): FaultsByKind[Kind] | undefined {
  return faultsByKind[kind].find((fault) => fault.name === name)
}
