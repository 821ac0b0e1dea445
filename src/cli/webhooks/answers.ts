import { type Guard, isFlag, isNumber, isText, listOf, orNull, shape } from '../guards.ts'

/* What Filmgate answers about webhooks. Times are Unix seconds. */

export interface Endpoint {
  id: string
  name: string
  url: string
  event_types: string[]
  created_at: number
  updated_at: number
  signing_secret_hint: string | null
  disabled_at: number | null
  disabled_reason: string | null
}

export type EndpointWithSecret = Endpoint & { signing_secret: string }

export interface Delivery {
  id: string
  event_id: string
  event_type: string
  video_id: string
  created_at: number
  state: string
  next_try_at: number | null
  ended_at: number | null
  tries: Try[]
}

export interface Try {
  at: number
  status_code: number | null
  error: string | null
  took_ms: number
}

export interface Page<Item> {
  data: Item[]
  has_more: boolean
}

const endpoint = {
  ...{ id: isText, name: isText, url: isText, event_types: listOf(isText), created_at: isNumber, updated_at: isNumber },
  ...{ signing_secret_hint: orNull(isText), disabled_at: orNull(isNumber), disabled_reason: orNull(isText) },
}

export const isEndpoint: Guard<Endpoint> = shape<Endpoint>(endpoint)
export const isEndpointWithSecret = shape<EndpointWithSecret>({ ...endpoint, signing_secret: isText })
export const isEndpointPage = shape<Page<Endpoint>>({ data: listOf(isEndpoint), has_more: isFlag })
export const isDeleted = shape<{ id: string; deleted: boolean }>({ id: isText, deleted: isFlag })
export const isTested = shape<{ event_type: string; status_code: number }>({
  event_type: isText,
  status_code: isNumber,
})
export const isReplayed = shape<{ replayed: number }>({ replayed: isNumber })

export const isDelivery: Guard<Delivery> = shape<Delivery>({
  ...{ id: isText, event_id: isText, event_type: isText, video_id: isText, created_at: isNumber, state: isText },
  ...{ next_try_at: orNull(isNumber), ended_at: orNull(isNumber) },
  tries: listOf(shape<Try>({ at: isNumber, status_code: orNull(isNumber), error: orNull(isText), took_ms: isNumber })),
})
export const isDeliveryPage = shape<Page<Delivery>>({ data: listOf(isDelivery), has_more: isFlag })
