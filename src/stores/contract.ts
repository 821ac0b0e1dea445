import { describe } from 'node:test'
import { testAdoptions } from './contract/adoptions.ts'
import { testAlarms } from './contract/alarms.ts'
import { testAttempts } from './contract/attempts.ts'
import { testDeclarations } from './contract/declarations.ts'
import { testFairness } from './contract/fairness.ts'
import { testFigures } from './contract/figures.ts'
import { testLanes } from './contract/lanes.ts'
import { testLeases } from './contract/leases.ts'
import { testLedger } from './contract/ledger.ts'
import { testLines } from './contract/lines.ts'
import { testNotices } from './contract/notices.ts'
import { testOrphans } from './contract/orphans.ts'
import { testQuotas } from './contract/quotas.ts'
import { testSearch } from './contract/search.ts'
import { testSecrets } from './contract/secrets.ts'
import { testShares } from './contract/shares.ts'
import { testSlots } from './contract/slots.ts'
import { testTasks } from './contract/tasks.ts'
import { testTokens } from './contract/tokens.ts'
import { testUsage } from './contract/usage.ts'
import { testWebhooks } from './contract/webhooks.ts'
import type { StoreWorld } from './contract/world.ts'

export { newTask } from './contract/world.ts'

/** Tests that every store must pass. `open` opens a store on the existing data, `wipe` empties it. */
export function testStore(name: string, world: StoreWorld): void {
  describe(`the ${name} store`, () => {
    for (const test of [
      testTasks,
      testSearch,
      testLeases,
      testLanes,
      testSlots,
      testShares,
      testFairness,
      testLines,
      testLedger,
      testUsage,
      testQuotas,
      testAdoptions,
      testAttempts,
      testOrphans,
      testNotices,
      testWebhooks,
      testTokens,
      testSecrets,
      testDeclarations,
      testFigures,
      testAlarms,
    ])
      test(world)
  })
}
