import type { Scheme } from '../scheme.ts'
import type { Drawing, Stage } from '../stage.ts'

/**
 * A film of forms only, for prompts that name nothing that could be drawn. Called once for a film; the ground is there
 * already. What it leaves to chance comes from the stage, so that every prompt has a film of its own.
 */
export type Abstract = (stage: Stage, scheme: Scheme) => Drawing
