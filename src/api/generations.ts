import type { FastifyReply, FastifyRequest } from 'fastify'

/** Where xAI's, Kong's and older clients submit and poll; their answers have the id under two more names. */
export const generationPaths = ['/videos/generations', '/video/generations']

/** The hook that adds those names. An error has no id. */
export async function nameTwice(_request: FastifyRequest, _reply: FastifyReply, payload: unknown): Promise<unknown> {
  const { object, id } = payload as { object?: string; id?: string }
  return object === 'video' ? { ...(payload as object), task_id: id, request_id: id } : payload
}
