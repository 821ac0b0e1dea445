import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../core/problem.ts'
import { wrongMethod } from './methods.ts'

/* What clients of the Videos API may ask for and is not offered. Its paths look like those of a video, and are none. */

/** Before a body is read: nothing in it could change the answer. */
export async function refuseCharacters(): Promise<never> {
  const message =
    'No model here makes characters. Describe the character in the prompt, or send a picture of it as ' +
    "'input_reference' to POST /v1/videos."
  throw new Problem('invalid_request', message)
}

/** What is made there is a video like any other, and is read where those are. */
export async function refuseReading(request: FastifyRequest, reply: FastifyReply): Promise<never> {
  throw wrongMethod(request, reply, ['POST'])
}
