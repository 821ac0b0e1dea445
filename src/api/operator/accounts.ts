import type { FastifyRequest } from 'fastify'
import type { Diagnosis } from '../../accounts/doctor.ts'
import { type AccountMode, type AccountView, isLocalName } from '../../core/account.ts'
import type { Declaration } from '../../core/declaration.ts'
import { healthy, isPaused, working } from '../../core/health.ts'
import { Problem } from '../../core/problem.ts'
import {
  ChangeAccount,
  CreateAccount,
  OperatorAccount,
  OperatorAccountList,
  OperatorAccountTest,
  RemovedAccount,
} from '../../wire/accounts.ts'
import type { OperatorDependencies } from '../operator.ts'
import { type BodyRequest, bodyFaults, defineRoute, pathParam, type Route } from '../route.ts'
import { iso, toWireList } from '../wire.ts'
import { auditOf } from './audit.ts'
import {
  configured,
  type DeclareDependencies,
  listUnused,
  openDeclare,
  readChanges,
  refuseStranded,
  requireDeclared,
  withFields,
} from './declare.ts'

export interface AccountDependencies extends OperatorDependencies, DeclareDependencies {
  store: OperatorDependencies['store'] & DeclareDependencies['store']
  /** Sends a free request to the provider of an account. Undefined if there is no such account. */
  testAccount(name: string): Promise<Diagnosis | undefined>
  /** The names of the providers that an account can be added for. */
  providers?: readonly string[]
}

const path = { name: 'The name of the account.' }
const theAccount = { 200: { description: 'The account.', schema: OperatorAccount } }
const changeErrors = ['account_not_found', 'invalid_request', 'changed_meanwhile', 'storage_unavailable'] as const

/** Accounts are added, changed and removed while the service runs. A change is in force in every process within a second. */
export function accountRoutes(dependencies: AccountDependencies): Route[] {
  const accounts = openAccounts(dependencies)
  return [
    {
      at: 'GET /operator/v1/accounts',
      id: 'listAccounts',
      summary: 'List accounts',
      description: 'The health of each account, why it is paused, and the providers that an account can be added for.',
      responses: { 200: { description: 'The accounts.', schema: OperatorAccountList } },
      errors: ['storage_unavailable'],
      handler: accounts.list,
    },
    defineRoute({
      at: 'POST /operator/v1/accounts',
      id: 'createAccount',
      summary: 'Add an account',
      description:
        'The account gets tasks in every process within a second. All models of its provider get a route to it, unless they have routes of their own. The key is stored encrypted.',
      body: {
        schema: CreateAccount,
        as: 'json',
        example: { name: 'kling-2', provider: 'kling', key: 'a-key-of-kling', concurrency: 5 },
      },
      responses: theAccount,
      errors: ['invalid_request', 'changed_meanwhile', 'storage_unavailable', ...bodyFaults],
      handler: accounts.create,
    }),
    {
      at: 'GET /operator/v1/accounts/:name',
      id: 'showAccount',
      summary: 'Show an account',
      description: 'The account, with the number of unfinished tasks that were sent to it.',
      path,
      responses: theAccount,
      errors: ['account_not_found', 'storage_unavailable'],
      handler: accounts.show,
    },
    defineRoute({
      at: 'POST /operator/v1/accounts/:name',
      id: 'changeAccount',
      summary: 'Change an account',
      description:
        'Omitted fields stay the same, and null restores the default. After a change of `base_url`, tasks that were sent to the old address wait until it is set again.',
      path,
      body: { schema: ChangeAccount, as: 'json', example: { concurrency: 8 } },
      responses: theAccount,
      errors: [...changeErrors, ...bodyFaults],
      handler: accounts.change,
    }),
    {
      at: 'POST /operator/v1/accounts/:name/test',
      id: 'testAccount',
      summary: 'Test an account',
      description: 'Sends the provider a free request that checks the address and the key. No video is generated.',
      path,
      responses: { 200: { description: 'The result.', schema: OperatorAccountTest } },
      errors: ['account_not_found'],
      handler: accounts.test,
    },
    ...modeRoutes(accounts),
    {
      at: 'DELETE /operator/v1/accounts/:name',
      id: 'removeAccount',
      summary: 'Remove an account',
      description: 'Refused while the account has unfinished tasks, or a model needs it. Its key is deleted.',
      path,
      responses: { 200: { description: 'The account is removed.', schema: RemovedAccount } },
      errors: changeErrors,
      handler: accounts.remove,
    },
  ]
}

function modeRoutes(accounts: ReturnType<typeof openAccounts>): Route[] {
  return [
    {
      at: 'POST /operator/v1/accounts/:name/pause',
      id: 'pauseAccount',
      summary: 'Pause an account',
      description:
        'Nothing is sent to the account and nothing is polled until it is resumed. Its tasks wait; a deadline that passes meanwhile takes effect when it is resumed.',
      path,
      responses: theAccount,
      errors: changeErrors,
      handler: accounts.pause,
    },
    {
      at: 'POST /operator/v1/accounts/:name/drain',
      id: 'drainAccount',
      summary: 'Drain an account',
      description:
        'The account gets no new tasks. Those that were sent to it go on to their end. Queued tasks wait for other accounts of their model. Then it can be removed, unless queued tasks need it.',
      path,
      responses: theAccount,
      errors: changeErrors,
      handler: accounts.drain,
    },
    {
      at: 'POST /operator/v1/accounts/:name/resume',
      id: 'resumeAccount',
      summary: 'Resume an account',
      description:
        'Ends the pause of an account after its cause is fixed, or one that an operator set, or a drain. The account counts as healthy until it fails again.',
      path,
      responses: theAccount,
      errors: changeErrors,
      handler: accounts.resume,
    },
  ]
}

function openAccounts(dependencies: AccountDependencies) {
  const { store, accounts, healths, clock, log, declared, testAccount, providers = [] } = dependencies
  const declare = openDeclare(dependencies)

  const find = (name: string): AccountView => {
    const account = accounts.get(name)
    if (account) return account
    const stored = declared.find('account', name)
    const why = stored?.removedAt === null ? declared.whyUnused(stored) : null
    throw notFound(name, why, [...accounts.keys()])
  }
  const describe = async (name: string): Promise<OperatorAccount> => ({
    ...toOperatorAccount(find(name), clock.now()),
    unfinished_tasks: await store.unfinishedOf(name),
  })
  /** The declaration of an account that may be changed here. */
  const changeable = (name: string, before: Declaration | undefined): Declaration => {
    if (!before && declared.isConfigured('account', name)) throw configured('account', name)
    return requireDeclared(before, { declared, notFound: () => notFound(name, null, [...accounts.keys()]) })
  }
  const setMode = async (request: FastifyRequest, mode: AccountMode, action: 'account.pause' | 'account.drain') => {
    const name = pathParam(request, 'name')
    await readChanges(dependencies)
    // A repeated request must not write a second entry.
    if (changeable(name, declared.find('account', name)).mode !== mode)
      await declare(request, {
        kind: 'account',
        name,
        action,
        edit: (before) => ({ ...changeable(name, before), mode }),
      })
    return describe(name)
  }

  return {
    /**
     * `missing`: unfinished tasks wait for these accounts, but they are not configured. `elsewhere`: accounts of other
     * processes, which can't be resumed here.
     */
    async list(): Promise<OperatorAccountList> {
      await healths.refresh()
      const now = clock.now()
      const others = (await store.accountsInUse()).filter((name) => !accounts.has(name))
      const [elsewhere, missing] = [others.filter(isLocalName), others.filter((name) => !isLocalName(name))]
      const shown = [...accounts.values()].map((account) => toOperatorAccount(account, now))
      return { ...toWireList(shown), missing, elsewhere, unused: listUnused(declared, 'account'), providers }
    },
    async show(request: FastifyRequest): Promise<OperatorAccount> {
      await healths.refresh()
      return describe(pathParam(request, 'name'))
    },
    async create(request: BodyRequest<CreateAccount>): Promise<OperatorAccount> {
      const { name, provider = name, key, ...fields } = request.body
      await declare(request, {
        kind: 'account',
        name,
        action: 'account.create',
        edit(before, now) {
          if (declared.isConfigured('account', name) || before?.removedAt === null) throw takenName(name)
          const settings = withFields({ provider }, fields)
          const times = { createdAt: now, changedAt: now, removedAt: null, revision: before?.revision ?? 0 }
          return { kind: 'account', name, settings, key: key?.trim() ?? null, mode: 'active', ...times }
        },
      })
      return describe(name)
    },
    async change(request: BodyRequest<ChangeAccount>): Promise<OperatorAccount> {
      const name = pathParam(request, 'name')
      const { key, ...fields } = request.body
      await declare(request, {
        kind: 'account',
        name,
        action: 'account.change',
        edit(before) {
          const found = changeable(name, before)
          const settings = withFields(found.settings, fields)
          if (found.key !== null && key === undefined && settings.base_url !== found.settings.base_url)
            throw new Problem(
              'invalid_value',
              'A change of `base_url` would send the stored key to another host. Send `key` with it.',
              { param: 'key' },
            )
          return { ...found, settings, key: key?.trim() ?? found.key }
        },
      })
      return describe(name)
    },
    async test(request: FastifyRequest): Promise<OperatorAccountTest> {
      const name = pathParam(request, 'name')
      const found = await testAccount(name)
      if (!found) throw notFound(name, null, [...accounts.keys()])
      const { state, seen, fix } = found
      return { object: 'operator.account_test', account: name, state, seen, fix }
    },
    pause: (request: FastifyRequest) => setMode(request, 'paused', 'account.pause'),
    drain: (request: FastifyRequest) => setMode(request, 'draining', 'account.drain'),
    /** `was_paused` is also true for an account that was recovering. */
    async resume(request: FastifyRequest): Promise<OperatorAccount> {
      const name = pathParam(request, 'name')
      await readChanges(dependencies)
      const account = find(name)
      await healths.refresh()
      const { health: before, mode = 'active' } = account
      const paused = before.reason !== null || mode !== 'active'
      if (mode !== 'active')
        await declare(request, {
          kind: 'account',
          name,
          action: 'account.resume',
          edit: (stored) => ({ ...changeable(name, stored), mode: 'active' }),
        })
      else {
        // First: another transaction writes the health, and no change may lack its entry.
        const change = { at: clock.now(), action: 'account.resume', target: name, before, after: healthy } as const
        await store.appendAudit(auditOf(request, change))
      }
      // The registry may have another object for a changed account.
      const resumed = find(name)
      resumed.health = working
      await healths.report(name)
      log.info('account resumed', { request: request.id, account: name, operator: request.token.name, paused })
      return { ...toOperatorAccount(resumed, clock.now()), was_paused: paused }
    },
    async remove(request: FastifyRequest): Promise<RemovedAccount> {
      const name = pathParam(request, 'name')
      // An account that the configuration overrides has no tasks, and may be removed.
      const removable = (before: Declaration | undefined) =>
        before?.removedAt === null ? before : changeable(name, before)
      await declare(request, {
        kind: 'account',
        name,
        action: 'account.remove',
        async edit(before, now) {
          const found = removable(before)
          const unfinished = declared.isConfigured('account', name) ? 0 : await store.unfinishedOf(name)
          if (unfinished > 0) throw stillNeeded(name, unfinished, found.mode)
          await refuseStranded(found, dependencies)
          return { ...found, settings: {}, key: null, mode: 'active', removedAt: now }
        },
      })
      return { name, object: 'operator.account.deleted', deleted: true }
    },
  }
}

function stillNeeded(name: string, unfinished: number, mode: AccountMode): Problem {
  const tasks = unfinished === 1 ? 'an unfinished task' : `${unfinished} unfinished tasks`
  const advice = mode === 'draining' ? 'It is being drained: wait until it has none.' : 'Drain it first.'
  return new Problem('invalid_request', `The account '${name}' has ${tasks}. ${advice}`)
}

function takenName(name: string): Problem {
  const message = `\`name\` is '${name}'. Another account has this name. Choose another one, or change that account.`
  return new Problem('invalid_value', message, { param: 'name' })
}

function notFound(name: string, why: string | null, known: readonly string[]): Problem {
  const shown = name.slice(0, 100)
  if (why !== null)
    return new Problem('account_not_found', `The account '${shown}' is not in force: ${why}.`, { param: 'name' })
  if (isLocalName(name)) {
    const reason = `'${shown}' has the form of another process's account name. Such an account can't be resumed here.`
    const advice = 'Its pause ends by itself, or when that process is restarted.'
    return new Problem('account_not_found', `${reason} ${advice}`, { param: 'name' })
  }
  const list = known.length > 0 ? `Configured accounts: ${known.join(', ')}.` : 'No account is configured.'
  return new Problem('account_not_found', `There is no account '${shown}'. ${list}`, { param: 'name' })
}

function toOperatorAccount(account: AccountView, now: number): OperatorAccount {
  const { name, provider, concurrency, onUnknown, health, mode = 'active', source = 'config', baseUrl = null } = account
  const { key = { isSet: false, hint: null } } = account
  return {
    name,
    object: 'operator.account',
    source,
    mode,
    provider: provider.name,
    base_url: baseUrl,
    key_set: key.isSet,
    key_hint: key.hint,
    recovery: provider.recovery,
    concurrency,
    on_unknown: onUnknown,
    health: describeHealth(health, now),
  }
}

export function describeHealth(health: AccountView['health'], now: number): OperatorAccount['health'] {
  const { failures, pausedUntil, reason, isCredit = false, hasWorked = false } = health
  const paused = isPaused(health, now)
  return {
    state: paused ? 'paused' : reason === null ? 'ok' : 'recovering',
    reason,
    ...(reason === 'credentials' && { no_credit: isCredit }),
    paused_until: paused ? iso(pausedUntil) : null,
    failures,
    has_worked: hasWorked,
  }
}
