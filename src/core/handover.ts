/**
 * What sends the bytes of a video: this service; the storage, to which the client is redirected; or nginx, which serves
 * the bucket's folder under this path.
 */
export type Handover = 'proxy' | 'redirect' | { accel: string }
