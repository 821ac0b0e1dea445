-- What operators have to know. At most one alarm of a kind and a subject is active. `details` is JSON. For each
-- receiver: when the start and the end were sent to it, and while a process sends one of them, `…_until` is when that process may be
-- considered dead.
CREATE TABLE alarms (
  id                 TEXT PRIMARY KEY,
  kind               TEXT NOT NULL,
  subject            TEXT NOT NULL,
  details            TEXT NOT NULL,
  raised_at          INTEGER NOT NULL,
  last_seen          INTEGER NOT NULL,
  count              INTEGER NOT NULL,
  acknowledged_by    TEXT,
  acknowledged_at    INTEGER,
  cleared_at         INTEGER,
  webhook_raised_at  INTEGER,
  webhook_cleared_at INTEGER,
  webhook_until      INTEGER,
  slack_raised_at    INTEGER,
  slack_cleared_at   INTEGER,
  slack_until        INTEGER
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX alarms_active ON alarms (kind, subject) WHERE cleared_at IS NULL;
CREATE INDEX alarms_cleared ON alarms (cleared_at) WHERE cleared_at IS NOT NULL;
CREATE INDEX alarms_webhook ON alarms (id) WHERE webhook_raised_at IS NULL OR cleared_at IS NOT NULL AND webhook_cleared_at IS NULL;
CREATE INDEX alarms_webhook_sent ON alarms (kind, subject, webhook_raised_at) WHERE webhook_raised_at IS NOT NULL;
CREATE INDEX alarms_slack ON alarms (id) WHERE slack_raised_at IS NULL OR cleared_at IS NOT NULL AND slack_cleared_at IS NULL;
CREATE INDEX alarms_slack_sent ON alarms (kind, subject, slack_raised_at) WHERE slack_raised_at IS NOT NULL;
