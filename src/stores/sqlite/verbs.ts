import type { DatabaseSync } from 'node:sqlite'
import type { AccountHealth } from '../../core/account.ts'
import { type ColumnValue, columns, fromHealth, healthColumns } from '../../core/row.ts'
import type { Admission } from '../../core/spend.ts'
import { prepareAdmissions } from './admissions.ts'
import { prepareAlarms } from './alarms.ts'
import { prepareClaims } from './claims.ts'
import { prepareDeclarations } from './declarations.ts'
import { prepareMutations } from './mutations.ts'
import { prepareProbe } from './probe.ts'
import { prepareSecrets } from './secrets.ts'
import { prepareTokens } from './tokens.ts'
import { prepareUsage } from './usage.ts'
import { prepareWebhooks } from './webhooks.ts'

/** All writes by name; they run in the writer thread, inside its transaction. */
export type Verbs = ReturnType<typeof prepareVerbs>
export type Unit = { [Name in keyof Verbs]: { verb: Name; args: Parameters<Verbs[Name]> } }[keyof Verbs]

export function prepareVerbs(database: DatabaseSync) {
  const { repairTaskTimes, ...claims } = prepareClaims(database)
  const { repairDeliveryTimes, ...webhooks } = prepareWebhooks(database)
  const insert = database.prepare(insertStatement('tasks', columns))
  const admit = prepareAdmissions(database)
  const trimNotices = database.prepare(
    `DELETE FROM notices WHERE number IN (SELECT number FROM notices ORDER BY number LIMIT ?2)
     AND at < ?1 AND number < (SELECT max(number) FROM notices)`,
  )
  const saveHealth = database.prepare(
    `${insertStatement('healths', healthColumns)}
     ON CONFLICT (account) DO UPDATE SET key_version = excluded.key_version, health = excluded.health,
       changed_at = excluded.changed_at WHERE healths.changed_at <= excluded.changed_at`,
  )
  const trimHealth = database.prepare('DELETE FROM healths WHERE account = ? AND changed_at < ?')

  return {
    ...claims,
    ...webhooks,
    ...prepareMutations(database),
    ...prepareProbe(database),
    ...prepareSecrets(database),
    ...prepareDeclarations(database),
    ...prepareAlarms(database),
    ...prepareTokens(database),
    ...prepareUsage(database),
    insert(row: ColumnValue[]): void {
      insert.run(...row)
    },
    /** The same for a task that a limit of its owner may not allow. */
    admit: (row: ColumnValue[], admission: Admission) => admit(admission, () => insert.run(...row)),
    repairDueTimes(now: number): void {
      repairTaskTimes(now)
      repairDeliveryTimes(now)
    },
    trimNotices: (before: number, limit: number) => Number(trimNotices.run(before, limit).changes),
    saveHealth(health: AccountHealth): void {
      saveHealth.run(...fromHealth(health))
    },
    trimHealths: (accounts: readonly string[], before: number) =>
      accounts.reduce((sum, account) => sum + Number(trimHealth.run(account, before).changes), 0),
  }
}

function insertStatement(table: string, columns: readonly string[]): string {
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`
}
