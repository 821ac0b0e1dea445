import { createHmac } from 'node:crypto'
import type { Random } from './clock.ts'

/* Standard Webhooks: with a signature a receiver knows that a request is ours, and not a replay of an old one. */

const prefix = 'whsec_'

/** Base64 of 32 bytes with padding: some of OpenAI's SDKs accept nothing else. */
export function newSigningSecret(random: Random): string {
  return `${prefix}${Buffer.from(random(32)).toString('base64')}`
}

/** Just enough to tell two secrets apart. */
export function hintOf(secret: string): string {
  return `${prefix}****${secret.replace(/={1,2}$/, '').slice(-4)}`
}

/** One signature for each secret, so that a receiver may use either during a rotation. */
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
