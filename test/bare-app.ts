import { type AppDependencies, buildApp } from '../src/api/app.ts'
import { openReadiness } from '../src/api/health.ts'
import { openStoredBytes } from '../src/api/stored-bytes.ts'

type Added = 'readiness' | 'stored' | 'localAlarms' | 'bucketLimit' | 'service'

/** The API without the rest of a service: no limit on stored bytes, and no alarms. */
export function buildBareApp(parts: Omit<AppDependencies, Added>) {
  return buildApp({
    ...parts,
    readiness: openReadiness(parts),
    stored: openStoredBytes(parts),
    localAlarms: () => [],
    bucketLimit: 0,
    service: { name: 'this process', version: 'unknown', store: 'sqlite', bucket: 'disk' },
  })
}
