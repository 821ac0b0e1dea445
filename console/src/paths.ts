/** The first part of the path of each page. The service sends the console there; all other paths are the API's. */
export const paths = [
  ...(['videos', 'models', 'usage', 'webhooks'] as const),
  ...(['overview', 'providers', 'money-at-risk', 'tokens', 'alarms', 'audit', 'settings'] as const),
]
