import type { ModelCard } from '../core/catalog.ts'
import type { Problem } from '../core/problem.ts'
import type { ImageType, Json, Parameters, Size } from '../core/task.ts'

/**
 * Who makes videos. A member never sleeps, retries, reads the clock or the environment: the engine does. Failure of the
 * work is data (`failed`), failure of the way there is thrown. An operation survives a restart of ours.
 */
export interface Provider {
  readonly name: string
  /** How long to wait between two polls of one task. */
  readonly cadenceMs: number
  submit(request: ProviderRequest, call: Call): Promise<{ operation: Json }>
  /** An unknown upstream status means running. */
  poll(operation: Json, call: Call): Promise<Progress>
  /** The bytes of a succeeded poll's output. Throws `output_unavailable` where only a new poll can help. */
  download(output: Json, call: Call): Promise<Response>
  /** Nothing more is wanted of this operation: let go of what is kept for it. May be called twice, or never. */
  forget?(operation: Json, call: Call): Promise<void>
}

export interface ProviderRequest {
  model: string
  prompt: string
  seconds: number
  size: Size
  parameters: Parameters
  image: { type: ImageType; bytes: Uint8Array } | null
}

export interface Call {
  signal: AbortSignal
  /** One id for one submit to one provider, used wherever the provider takes a reference of ours. */
  attemptId: string
}

export type Progress =
  | { status: 'running'; progress: number | null }
  | { status: 'succeeded'; output: Json }
  | { status: 'failed'; problem: Problem }

/** A provider as the service is set up with it. */
export interface ProviderAccount {
  readonly provider: Provider
  /** How many of its tasks may run at once. */
  readonly concurrency: number
}

export type Cards = readonly ModelCard[]
