import { type AppDependencies, buildApp } from '../src/api/app.ts'
import { openReadiness } from '../src/api/health.ts'
import { openStoredBytes } from '../src/api/stored-bytes.ts'
import { figureLimits } from '../src/core/figures.ts'

type Added = 'readiness' | 'stored' | 'figures' | 'localAlarms' | 'bucketLimit' | 'service'

/** The API without the rest of a service: no limit on stored bytes, and no alarms. */
export function buildBareApp(parts: Omit<AppDependencies, Added>) {
  return buildApp({
    ...parts,
    readiness: openReadiness(parts),
    stored: openStoredBytes(parts),
    figures: () => parts.store.figures({ accounts: [...parts.accounts.keys()], ...figureLimits }),
    localAlarms: () => [],
    bucketLimit: 0,
    service: { name: 'this process', version: 'unknown', store: 'sqlite', bucket: 'disk' },
  })
}
