/**
 * Who sends the bytes: we; the storage, to which the client is led; or nginx in front of us, from the bucket's folder,
 * which it knows by this path.
 */
export type Handover = 'proxy' | 'redirect' | { accel: string }
