import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type AlarmDetails, type AlarmKind, alarmKindNames, alarmKinds, describeAlarm } from './alarms.ts'

function firstAidOf(kind: AlarmKind, subject: string, details: AlarmDetails = {}): string {
  const times = { raisedAt: 0, lastSeen: 0, acknowledgedAt: null, clearedAt: null }
  return describeAlarm({ id: 'alarm_1', kind, subject, details, count: 1, acknowledgedBy: null, ...times }).first_aid
}

it('a first aid has the names that are known, so that its commands can be pasted', () => {
  const resume = '`filmgate account resume kling-main`'
  assert.equal(firstAidOf('account_credit', 'kling-main'), `Add credit at the provider, then ${resume}.`)
  const key = firstAidOf('account_key', 'kling-main')
  assert.ok(key.includes('`filmgate account test kling-main`') && key.includes(resume), key)
  assert.match(firstAidOf('circuit_open', 'studio@web-1'), /`filmgate account test studio@web-1`/)
  assert.match(firstAidOf('limit_reached', 'tok_0123456789ab'), /`filmgate token show tok_0123456789ab`/)
  assert.match(firstAidOf('endpoint_dead', 'shop', { endpoint: 'we_1' }), /`filmgate webhooks enable we_1`/)
  for (const subject of ['film', 'film at main'])
    assert.match(
      firstAidOf('model_retired', subject),
      /`filmgate model set film --account ACCOUNT --model OTHER-MODEL`/,
    )
  assert.match(firstAidOf('certificate_failing', 'api.example from web-1'), /-connect api\.example:443`/)
  assert.match(firstAidOf('certificate_failing', 'api.example:8443 from web-1'), /-connect api\.example:8443`/)
})

it('a first aid keeps its words where the name is unknown, or is more than a name to a shell', () => {
  assert.match(firstAidOf('limit_reached', 'shop'), /`filmgate token show TOKEN`/)
  for (const subject of ['a; reboot', '$(reboot)', '`reboot`', '--help', "it's", '']) {
    assert.equal(firstAidOf('account_key', subject), alarmKinds.account_key.firstAid)
    for (const kind of alarmKindNames) assert.ok(!firstAidOf(kind, subject).includes('reboot'), kind)
  }
  assert.match(firstAidOf('account_key', '$&'), /test NAME/)
})
