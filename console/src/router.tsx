import { createRootRoute, createRoute, createRouter, deepEqual, redirect } from '@tanstack/react-router'
import { readAlarmFilters } from './alarms.ts'
import { readAuditPlace } from './audit.ts'
import { Broken, Frame, NotFound } from './frame/frame.tsx'
import { lazyPage } from './lazy-page.tsx'
import { readOverviewRange } from './overview.ts'
import { readPlaySearch } from './playground.ts'
import { readRiskFilters } from './risk.ts'
import { readFlag } from './search.ts'
import { readSettingFilters } from './settings.ts'
import { readTokenFilters } from './tokens.ts'
import { readUsageFilters } from './usage.ts'
import { readVideoFilters } from './videos.ts'
import { readDeliveryFilters } from './webhooks.ts'

/* Every page, loaded when it is opened. A page with a new first part of its path is also in `paths.ts`. */

const root = createRootRoute({ component: Frame, notFoundComponent: NotFound, errorComponent: Broken })

const playground = createRoute({
  getParentRoute: () => root,
  path: '/',
  validateSearch: readPlaySearch,
  component: lazyPage(() => import('./pages/playground.tsx'), 'PlaygroundPage'),
})

const overview = createRoute({
  getParentRoute: () => root,
  path: '/overview',
  validateSearch: readOverviewRange,
  component: lazyPage(() => import('./pages/overview.tsx'), 'OverviewPage'),
})

const videos = createRoute({
  getParentRoute: () => root,
  path: '/videos',
  validateSearch: readVideoFilters,
  component: lazyPage(() => import('./pages/videos.tsx'), 'VideosPage'),
})

const video = createRoute({
  getParentRoute: () => root,
  path: '/videos/$id',
  component: lazyPage(() => import('./pages/video.tsx'), 'VideoPage'),
})

const models = createRoute({ getParentRoute: () => root, path: '/models' })

const modelList = createRoute({
  getParentRoute: () => models,
  path: '/',
  component: lazyPage(() => import('./pages/models.tsx'), 'ModelsPage'),
})

/** The names of models may contain slashes. */
const model = createRoute({
  getParentRoute: () => models,
  path: '$',
  component: lazyPage(() => import('./pages/model.tsx'), 'ModelPage'),
})

const providers = createRoute({
  getParentRoute: () => root,
  path: '/providers',
  validateSearch: (search) => readFlag(search, 'add'),
  component: lazyPage(() => import('./pages/providers.tsx'), 'ProvidersPage'),
})

const provider = createRoute({
  getParentRoute: () => root,
  path: '/providers/$name',
  validateSearch: (search) => readFlag(search, 'test'),
  component: lazyPage(() => import('./pages/provider.tsx'), 'ProviderPage'),
})

const risk = createRoute({
  getParentRoute: () => root,
  path: '/money-at-risk',
  validateSearch: readRiskFilters,
  component: lazyPage(() => import('./pages/risk.tsx'), 'RiskPage'),
})

const tokens = createRoute({
  getParentRoute: () => root,
  path: '/tokens',
  validateSearch: readTokenFilters,
  component: lazyPage(() => import('./pages/tokens.tsx'), 'TokensPage'),
})

const newToken = createRoute({
  getParentRoute: () => root,
  path: '/tokens/new',
  validateSearch: readTokenFilters,
  component: lazyPage(() => import('./pages/new-token.tsx'), 'NewTokenPage'),
})

const token = createRoute({
  getParentRoute: () => root,
  path: '/tokens/$id',
  component: lazyPage(() => import('./pages/token.tsx'), 'TokenPage'),
})

const usage = createRoute({
  getParentRoute: () => root,
  path: '/usage',
  validateSearch: readUsageFilters,
  component: lazyPage(() => import('./pages/usage.tsx'), 'UsagePage'),
})

const webhooks = createRoute({
  getParentRoute: () => root,
  path: '/webhooks',
  component: lazyPage(() => import('./pages/webhooks.tsx'), 'WebhooksPage'),
})

const newWebhook = createRoute({
  getParentRoute: () => root,
  path: '/webhooks/new',
  component: lazyPage(() => import('./pages/new-webhook.tsx'), 'NewWebhookPage'),
})

const webhook = createRoute({
  getParentRoute: () => root,
  path: '/webhooks/$id',
  validateSearch: readDeliveryFilters,
  component: lazyPage(() => import('./pages/webhook.tsx'), 'WebhookPage'),
})

const alarms = createRoute({
  getParentRoute: () => root,
  path: '/alarms',
  validateSearch: readAlarmFilters,
  component: lazyPage(() => import('./pages/alarms.tsx'), 'AlarmsPage'),
})

const audit = createRoute({
  getParentRoute: () => root,
  path: '/audit',
  validateSearch: readAuditPlace,
  component: lazyPage(() => import('./pages/audit.tsx'), 'AuditPage'),
})

const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  validateSearch: readSettingFilters,
  component: lazyPage(() => import('./pages/settings.tsx'), 'SettingsPage'),
})

export const router = createRouter({
  routeTree: root.addChildren([
    playground,
    overview,
    videos,
    video,
    models.addChildren([modelList, model]),
    providers,
    provider,
    risk,
    tokens,
    newToken,
    token,
    usage,
    webhooks,
    newWebhook,
    webhook,
    alarms,
    audit,
    settings,
  ]),
  defaultErrorComponent: Broken,
  // Another video, token or account: nothing of the one before stays on its page.
  defaultRemountDeps: ({ params }) => params,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}

interface Opening {
  location: { search: object }
  matches: readonly { _strictSearch: object }[]
}

/** `validateSearch` of a page adds what it has read, and removes nothing: the page would see the rest of the query as well. */
function keepRead({ location, matches }: Opening): void {
  const read = matches.at(-1)?._strictSearch ?? {}
  if (!deepEqual(location.search, read)) throw redirect({ to: '.', search: read, replace: true })
}

// As an option of `createRootRoute`, its type would depend on that of the router, and so on itself.
Object.assign(root.options, { beforeLoad: keepRead })
