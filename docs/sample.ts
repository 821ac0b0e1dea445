import { join } from 'node:path'
import { samplePrompt } from '../src/api/docs/examples.ts'
import { render } from '../src/studio/render.ts'

/*
 * Draws the sample video of the pages below /docs/models. Run it after a change to the renderer: node docs/sample.ts
 */

const path = join(import.meta.dirname, '..', 'assets', 'sample.mp4')
const film = { path, prompt: samplePrompt, seconds: 3, size: { width: 480, height: 270 }, image: null }
await render(film, () => {})
