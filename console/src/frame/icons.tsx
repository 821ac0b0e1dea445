import type { ReactNode } from 'react'

function icon(content: ReactNode) {
  return () => (
    <svg viewBox="0 0 16 16" className="glyph" aria-hidden="true">
      {content}
    </svg>
  )
}

export const PlayIcon = icon(<path d="M4 2.500v11l9-5.500z" />)
export const VideoIcon = icon(
  <>
    <rect x="1.5" y="3" width="13" height="10" rx="1.5" />
    <path d="m6.5 6 3.5 2-3.5 2z" />
  </>,
)
export const ModelIcon = icon(<path d="m8 1.5 5.5 3v7L8 14.5l-5.5-3v-7zM2.5 4.5 8 7.5l5.5-3M8 7.5v7" />)
export const ProviderIcon = icon(<path d="M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01" />)
export const RiskIcon = icon(<path d="m8 2 6.5 11.500h-13zM8 6.500v3M8 11.500h.01" />)
export const TokenIcon = icon(
  <>
    <circle cx="5" cy="8" r="3.2" />
    <path d="M8.2 8h6.3M12 8v2.600M14.500 8v1.800" />
  </>,
)
export const UsageIcon = icon(<path d="M2.500 14v-4M6.200 14V6M9.800 14V8.500M13.500 14V2.500" />)
export const WebhookIcon = icon(
  <>
    <path d="M6 4.500h5.500v5M10 11.500H4.500v-5" />
    <circle cx="11.500" cy="11.500" r="2" />
    <circle cx="4.500" cy="4.500" r="2" />
  </>,
)
export const AlarmIcon = icon(<path d="M4 11V7a4 4 0 0 1 8 0v4l1.500 1.500h-11zM6.500 14h3" />)
export const AuditIcon = icon(<path d="M3.500 1.500h9v13h-9zM6 5h4M6 8h4M6 11h2.500" />)
export const OverviewIcon = icon(<path d="M2 14h12M4 11.500V8M8 11.500V3M12 11.500V6" />)
export const SettingsIcon = icon(
  <>
    <path d="M2 5h7M12.500 5H14M2 11h1.500M7 11h7" />
    <circle cx="10.750" cy="5" r="1.750" />
    <circle cx="5.250" cy="11" r="1.750" />
  </>,
)
export const SearchIcon = icon(
  <>
    <circle cx="7" cy="7" r="4.5" />
    <path d="m10.5 10.5 4 4" />
  </>,
)
export const MenuIcon = icon(<path d="M2 4h12M2 8h12M2 12h12" />)
export const CopyIcon = icon(
  <>
    <rect x="5" y="5" width="9" height="9" rx="1.5" />
    <path d="M11 5V3.5A1.5 1.5 0 0 0 9.500 2h-6A1.500 1.500 0 0 0 2 3.500v6A1.500 1.500 0 0 0 3.500 11H5" />
  </>,
)
export const Mark = () => (
  <svg viewBox="0 0 32 32" className="mark" aria-hidden="true">
    <rect width="32" height="32" rx="7" />
    <path d="M8 8h3v16H8zM21 8h3v16h-3z" />
    <path d="m13.500 11 6 5-6 5z" />
  </svg>
)
