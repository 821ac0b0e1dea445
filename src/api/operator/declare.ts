import type { FastifyRequest } from 'fastify'
import type { Declared } from '../../accounts/declared.ts'
import { toKeyView } from '../../core/account.ts'
import type { AuditEntry } from '../../core/audit.ts'
import type { Clock } from '../../core/clock.ts'
import type { Declaration, DeclarationKind } from '../../core/declaration.ts'
import { Problem } from '../../core/problem.ts'
import type { DeclarationStore, TaskStore } from '../../stores/store.ts'
import { auditOf } from './audit.ts'

export interface DeclareDependencies {
  store: DeclarationStore
  declared: Declared
  clock: Clock
}

interface Edit {
  kind: DeclarationKind
  name: string
  action: AuditEntry['action']
  /** Makes the next version of what is declared now, which may be removed or not exist. */
  edit(before: Declaration | undefined, now: number): Declaration | Promise<Declaration>
}

type Declare = (request: FastifyRequest, edit: Edit) => Promise<Declaration>

/** Puts in force what other processes have changed. Returns the revision of the last change. */
export async function readChanges({ store, declared }: Pick<DeclareDependencies, 'store' | 'declared'>) {
  const newest = await store.newestDeclaration()
  const known = declared.newest()
  const changed = newest > known ? await store.declarations(known) : []
  if (changed.length > 0) await declared.adopt(changed)
  return newest
}

/** Each try fails only if another process has changed something. */
const mostTries = 10

/**
 * Writes what an operator declares, with its entry of the audit log, and puts it in force in this process. It is checked
 * with everything that is declared, so it is written only if nothing else was changed meanwhile.
 */
export function openDeclare(dependencies: DeclareDependencies): Declare {
  const { store, declared, clock } = dependencies
  const attempt = async (request: FastifyRequest, { kind, name, action, edit }: Edit) => {
    for (let tries = 0; tries < mostTries; tries += 1) {
      const newest = await readChanges(dependencies)
      const now = clock.now()
      const before = declared.find(kind, name)
      const edited = { ...(await edit(before, now)), changedAt: now }
      declared.check(edited)
      const states = { before: toAudited(before), after: toAudited(edited) }
      const entry = auditOf(request, { at: now, action, target: name, ...states })
      const isKeyChanged = edited.key !== null && before !== undefined && before.key !== edited.key
      const after = isKeyChanged ? { ...states.after, key_changed: true } : states.after
      const written = await store.saveDeclaration(edited, { ...entry, after }, newest)
      if (!written) continue
      await declared.adopt([written])
      return written
    }
    const message = `The ${kind} '${name}' could not be changed, because others were at the same time. Check it, and try again.`
    throw new Problem('changed_meanwhile', message)
  }
  return (request, edit) => declared.inTurn(() => attempt(request, edit))
}

/** Without the key. */
function toAudited(declaration: Declaration | undefined): object | null {
  if (!declaration || declaration.removedAt !== null) return null
  const { kind, settings, key, mode } = declaration
  if (kind !== 'account') return settings
  const { isSet, hint } = toKeyView(key)
  return { ...settings, mode, key_set: isSet, key_hint: hint }
}

/** An omitted field keeps its value, and null restores the default. */
export function withFields(settings: Declaration['settings'], fields: object): Declaration['settings'] {
  const merged = { ...settings, ...fields }
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null && value !== undefined))
}

/** What exists and was declared here. */
export function requireDeclared(
  before: Declaration | undefined,
  { declared, notFound }: { declared: Declared; notFound: () => Problem },
): Declaration {
  if (!before || before.removedAt !== null) throw notFound()
  const { kind, name } = before
  if (declared.isConfigured(kind, name)) throw configured(kind, name)
  return before
}

export function configured(kind: DeclarationKind, name: string): Problem {
  return new Problem(
    'invalid_request',
    `The ${kind} '${name.slice(0, 200)}' is set in filmgate.yaml or by a variable. Change it there, and restart the service.`,
  )
}

/** What was declared and is not in force, each with the reason. */
export function listUnused(declared: Declared, ...kinds: DeclarationKind[]): string[] {
  return kinds
    .flatMap((kind) => declared.all(kind))
    .flatMap((declaration) => {
      const why = declared.whyUnused(declaration)
      return why === null ? [] : [`${declaration.name}: ${why}`]
    })
}

/** Nothing could generate the queued tasks of a model that is gone: they would wait until their deadline. */
export async function refuseStranded(
  declaration: Declaration,
  { store, declared }: { store: Pick<TaskStore, 'queueOf'>; declared: Declared },
): Promise<void> {
  const { kind, name } = declaration
  for (const model of declared.modelsWithout(declaration))
    if ((await store.queueOf(model, 1)).length > 0)
      throw new Problem(
        'invalid_request',
        `The ${kind} '${name}' can't be removed: the model '${model}' has queued tasks, and nothing else could generate them. Resume an account that is paused or drained, add another account for them, or delete them.`,
      )
}
