import type { ConsoleSession } from '../../../src/wire/console.ts'
import type { paths } from '../paths.ts'
import { type Action, may } from '../session.tsx'
import type { TextKey } from '../text.tsx'
import {
  AlarmIcon,
  AuditIcon,
  ModelIcon,
  OverviewIcon,
  PlayIcon,
  ProviderIcon,
  RiskIcon,
  SettingsIcon,
  TokenIcon,
  UsageIcon,
  VideoIcon,
  WebhookIcon,
} from './icons.tsx'

interface Place {
  to: '/' | `/${(typeof paths)[number]}`
  name: TextKey
  Icon: () => React.JSX.Element
  /** Who sees it: those who may do one of these. */
  for: readonly Action[]
}

/** The pages of the sidebar and of the palette, in their order. */
const all: readonly Place[] = [
  { to: '/', name: 'nav.playground', Icon: PlayIcon, for: ['create'] },
  { to: '/overview', name: 'nav.overview', Icon: OverviewIcon, for: ['see all'] },
  { to: '/videos', name: 'nav.videos', Icon: VideoIcon, for: ['create', 'see all'] },
  { to: '/money-at-risk', name: 'nav.risk', Icon: RiskIcon, for: ['see all'] },
  { to: '/models', name: 'nav.models', Icon: ModelIcon, for: ['create', 'see all'] },
  { to: '/providers', name: 'nav.providers', Icon: ProviderIcon, for: ['see all'] },
  { to: '/tokens', name: 'nav.tokens', Icon: TokenIcon, for: ['see all'] },
  { to: '/usage', name: 'nav.usage', Icon: UsageIcon, for: ['create', 'see all'] },
  { to: '/webhooks', name: 'nav.webhooks', Icon: WebhookIcon, for: ['create'] },
  { to: '/alarms', name: 'nav.alarms', Icon: AlarmIcon, for: ['see all'] },
  { to: '/audit', name: 'nav.audit', Icon: AuditIcon, for: ['see all'] },
  { to: '/settings', name: 'nav.settings', Icon: SettingsIcon, for: ['see all'] },
]

export function places(session: ConsoleSession): Place[] {
  return all.filter((place) => place.for.some((action) => may(session, action)))
}
