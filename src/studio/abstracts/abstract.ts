import type { Scheme } from '../scheme.ts'
import type { Drawing, Stage } from '../stage.ts'

/**
 * An abstract film, for prompts that name nothing that could be drawn. Called once for a film, after the background is
 * drawn. Its random choices come from the stage, so that every prompt has a film of its own.
 */
export type Abstract = (stage: Stage, scheme: Scheme) => Drawing
