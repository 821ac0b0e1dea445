import { Failure } from './failure.ts'

/** A page of a hundred tasks with the longest prompts is far below this. */
const mostBytes = 8 * 2 ** 20

/** An answer that does not end: whoever sends it would fill our memory. */
export class TooLong extends Failure {
  constructor() {
    super('the server sent more than 8 MiB where a short answer was due; the connection was dropped')
  }
}

/** The text of an answer that is no film. */
export async function readText({ body }: Response): Promise<string> {
  if (!body) return ''
  const chunks: Uint8Array[] = []
  let length = 0
  // Leaving the loop drops the connection.
  for await (const chunk of body) {
    length += chunk.length
    if (length > mostBytes) throw new TooLong()
    chunks.push(chunk)
  }
  return new TextDecoder().decode(Buffer.concat(chunks))
}
