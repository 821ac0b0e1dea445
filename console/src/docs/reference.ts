import address from 'virtual:scalar'
import './reference.css'

const script = document.createElement('script')
script.src = address
await new Promise((resolve, reject) => {
  script.addEventListener('load', resolve)
  script.addEventListener('error', reject)
  document.head.append(script)
})

Scalar.createApiReference('#reference', {
  url: '/openapi.json',
  // Nothing leaves this service: no fonts, figures, proxy or assistant of others.
  withDefaultFonts: false,
  telemetry: false,
  proxyUrl: '',
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
  // A token that someone tries requests with is not kept.
  persistAuth: false,
  // Those who are signed in to the console need no token here: the session counts with this header.
  customFetch: send,
  authentication: { preferredSecurityScheme: 'client' },
  modelsSectionLabel: 'Schemas',
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  // The document has a relative one, to which it would append another slash.
  servers: [{ url: location.origin }],
  // `/docs#tag/videos/createVideo`, as other pages link it.
  generateOperationSlug: ({ operationId, method, path }: Operation) => operationId ?? `${method}${path}`,
  documentDownloadType: 'json',
})

interface Operation {
  operationId?: string
  method: string
  path: string
}

function send(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined))
  const { origin } = new URL(input instanceof Request ? input.url : input, location.href)
  if (origin === location.origin) headers.set('x-filmgate-console', '1')
  // Without a token, Scalar sends the header without one, which would count instead of the session.
  if (headers.get('authorization') === 'Bearer') headers.delete('authorization')
  return fetch(input, { ...init, headers })
}
