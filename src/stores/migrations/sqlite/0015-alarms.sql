-- What operators have to know. At most one alarm of a kind and a subject is active. `details` is JSON. While a process
-- sends an alarm to the operator, `sending_until` is when that process may be considered dead.
CREATE TABLE alarms (
  id              TEXT PRIMARY KEY,
  kind            TEXT NOT NULL,
  subject         TEXT NOT NULL,
  details         TEXT NOT NULL,
  raised_at       INTEGER NOT NULL,
  last_seen       INTEGER NOT NULL,
  count           INTEGER NOT NULL,
  acknowledged_by TEXT,
  acknowledged_at INTEGER,
  cleared_at      INTEGER,
  raise_sent_at   INTEGER,
  clear_sent_at   INTEGER,
  sending_until   INTEGER
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX alarms_active ON alarms (kind, subject) WHERE cleared_at IS NULL;
CREATE INDEX alarms_cleared ON alarms (cleared_at) WHERE cleared_at IS NOT NULL;
CREATE INDEX alarms_sent ON alarms (kind, subject, raise_sent_at) WHERE raise_sent_at IS NOT NULL;
CREATE INDEX alarms_unsent ON alarms (id) WHERE raise_sent_at IS NULL OR cleared_at IS NOT NULL AND clear_sent_at IS NULL;
