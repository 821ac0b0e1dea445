-- What operators have to know: the same rows as in the SQLite store.
CREATE TABLE alarms (
  id                 text COLLATE "C" PRIMARY KEY,
  kind               text COLLATE "C" NOT NULL,
  subject            text COLLATE "C" NOT NULL,
  details            text NOT NULL,
  raised_at          bigint NOT NULL,
  last_seen          bigint NOT NULL,
  count              bigint NOT NULL,
  acknowledged_by    text,
  acknowledged_at    bigint,
  cleared_at         bigint,
  webhook_raised_at  bigint,
  webhook_cleared_at bigint,
  webhook_until      bigint,
  slack_raised_at    bigint,
  slack_cleared_at   bigint,
  slack_until        bigint
);
CREATE UNIQUE INDEX alarms_active ON alarms (kind, subject) WHERE cleared_at IS NULL;
CREATE INDEX alarms_cleared ON alarms (cleared_at) WHERE cleared_at IS NOT NULL;
CREATE INDEX alarms_webhook ON alarms (id) WHERE webhook_raised_at IS NULL OR cleared_at IS NOT NULL AND webhook_cleared_at IS NULL;
CREATE INDEX alarms_webhook_sent ON alarms (kind, subject, webhook_raised_at) WHERE webhook_raised_at IS NOT NULL;
CREATE INDEX alarms_slack ON alarms (id) WHERE slack_raised_at IS NULL OR cleared_at IS NOT NULL AND slack_cleared_at IS NULL;
CREATE INDEX alarms_slack_sent ON alarms (kind, subject, slack_raised_at) WHERE slack_raised_at IS NOT NULL;
