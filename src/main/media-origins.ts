import { isIP } from 'node:net'
import type { Handover } from '../core/handover.ts'

interface Address {
  bucket: string
  endpoint?: string
  forcePathStyle?: boolean
}

interface Delivery {
  bucket: { kind: 'disk' } | ({ kind: 's3' } & Address)
  handover: Handover
}

/** Where videos may come from besides this service: a bucket that delivers them itself has another origin. */
export function mediaOriginsOf({ bucket, handover }: Delivery): readonly string[] {
  if (bucket.kind !== 's3' || handover !== 'redirect') return []
  return bucket.endpoint === undefined ? awsOrigins : [originOf(bucket, bucket.endpoint)]
}

/** Without an endpoint the bucket is at AWS. The SDK finds its region, which decides about the host. */
const awsOrigins = ['https://*.amazonaws.com', 'https://*.amazonaws.com.cn', 'https://*.amazonaws.eu']

/** The SDK puts only such names of buckets before the host. */
const hostName = /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/

/** The origin of the links that the SDK signs. */
function originOf({ bucket, forcePathStyle = false }: Address, endpoint: string): string {
  const { origin, protocol, host, hostname } = new URL(endpoint)
  const isInPath = forcePathStyle || !hostName.test(bucket) || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0
  return isInPath ? origin : `${protocol}//${bucket}.${host}`
}
