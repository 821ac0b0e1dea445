-- What operators have to know: the same rows as in the SQLite store.
CREATE TABLE alarms (
  id              text COLLATE "C" PRIMARY KEY,
  kind            text COLLATE "C" NOT NULL,
  subject         text COLLATE "C" NOT NULL,
  details         text NOT NULL,
  raised_at       bigint NOT NULL,
  last_seen       bigint NOT NULL,
  count           bigint NOT NULL,
  acknowledged_by text,
  acknowledged_at bigint,
  cleared_at      bigint,
  raise_sent_at   bigint,
  clear_sent_at   bigint,
  sending_until   bigint
);
CREATE UNIQUE INDEX alarms_active ON alarms (kind, subject) WHERE cleared_at IS NULL;
CREATE INDEX alarms_cleared ON alarms (cleared_at) WHERE cleared_at IS NOT NULL;
CREATE INDEX alarms_sent ON alarms (kind, subject, raise_sent_at) WHERE raise_sent_at IS NOT NULL;
CREATE INDEX alarms_unsent ON alarms (id) WHERE raise_sent_at IS NULL OR cleared_at IS NOT NULL AND clear_sent_at IS NULL;
