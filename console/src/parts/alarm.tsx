import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { OperatorAlarm } from '../../../src/wire/alarms.ts'
import type { OperatorToken } from '../../../src/wire/tokens.ts'
import { type AlarmPlace, placeOf } from '../alarms.ts'
import { useText } from '../text.tsx'
import { tokenPath } from '../tokens.ts'

/** What is wrong, how much it matters, and what it is about. */
export function AlarmName({ alarm }: { alarm: OperatorAlarm }) {
  const t = useText()
  const { kind, severity } = alarm
  return (
    <span className="alarm" data-severity={severity}>
      <span className="severity">{t(`severity.${severity}`)}</span>
      <strong>{t(`alarmKind.${kind}`)}</strong> <Subject alarm={alarm} />
    </span>
  )
}

/** It leads to the page that shows what is wrong, and has what can be done about it. */
function Subject({ alarm }: { alarm: OperatorAlarm }) {
  const place = placeOf(alarm)
  if (!place) return <span>{alarm.subject}</span>
  return place.to === '/tokens/$id' ? <TokenLink place={place} /> : <Link {...place}>{alarm.subject}</Link>
}

/** By its name: an alarm has only the id. */
function TokenLink({ place }: { place: Extract<AlarmPlace, { to: '/tokens/$id' }> }) {
  const { id } = place.params
  const { data: token } = useQuery<OperatorToken>({ queryKey: [tokenPath(id)], staleTime: 60_000 })
  return <Link {...place}>{token?.name ?? id}</Link>
}

/** Active alarms above what they are about: what happened, and what to do first in the words of the service. */
export function AlarmNotices({ alarms }: { alarms: readonly OperatorAlarm[] }) {
  const t = useText()
  return alarms.map(({ id, kind, severity, subject, first_aid: aid }) => (
    <p key={id} className={severity === 'critical' ? 'notice' : 'notice mild'} role="status">
      <strong>{subject}</strong> {t(`alarmCause.${kind}`)} {aid}
    </p>
  ))
}
