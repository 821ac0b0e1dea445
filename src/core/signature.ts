import { createHmac } from 'node:crypto'
import type { Random } from './clock.ts'

/* Standard Webhooks: how a receiver knows that a request is ours, and not an old one that somebody sends again. */

const prefix = 'whsec_'

/** Plain base64 of 32 bytes, padding and all: some of OpenAI's SDKs take nothing else. */
export function newSigningSecret(random: Random): string {
  return `${prefix}${Buffer.from(random(32)).toString('base64')}`
}

/** Enough of it to tell two of them apart, and no more. */
export function hintOf(secret: string): string {
  return `${prefix}****${secret.replace(/={1,2}$/, '').slice(-4)}`
}

/** One signature for each secret, so that a receiver may have either while it changes them. */
export function sign(
  { id, timestamp, body }: { id: string; timestamp: number; body: string },
  secrets: readonly string[],
): string {
  const signed = `${id}.${timestamp}.${body}`
  return secrets.map((secret) => `v1,${createHmac('sha256', keyOf(secret)).update(signed).digest('base64')}`).join(' ')
}

function keyOf(secret: string): Buffer {
  return Buffer.from(secret.slice(prefix.length), 'base64')
}
