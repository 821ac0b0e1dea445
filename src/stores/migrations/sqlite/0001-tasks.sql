-- Times are milliseconds since the epoch. `due_at` drives everything: it is when the next action is due and, while a
-- lease is held, when that lease ends, so the task of a crashed holder becomes due again.
CREATE TABLE tasks (
  id             TEXT PRIMARY KEY,
  owner          TEXT NOT NULL,
  model          TEXT NOT NULL,
  card           TEXT NOT NULL,
  prompt         TEXT NOT NULL,
  seconds        INTEGER NOT NULL,
  width          INTEGER NOT NULL,
  height         INTEGER NOT NULL,
  parameters     TEXT NOT NULL,
  created_at     INTEGER NOT NULL,
  digest         INTEGER NOT NULL,
  finish_by      INTEGER NOT NULL,
  image          TEXT,
  state          TEXT NOT NULL,
  progress       INTEGER NOT NULL,
  start_by       INTEGER NOT NULL,
  started_at     INTEGER,
  missing_at     INTEGER,
  completed_at   INTEGER,
  expires_at     INTEGER,
  account        TEXT,
  attempt        TEXT,
  attempts       INTEGER NOT NULL,
  tried          TEXT,
  operation      TEXT,
  output         TEXT,
  video          TEXT,
  error          TEXT,
  due_at         INTEGER,
  tries          INTEGER NOT NULL,
  fence          INTEGER NOT NULL,
  leased         INTEGER NOT NULL DEFAULT 0,
  deleted_at     INTEGER
) STRICT;

-- A new task is in three of these. Each further one would slow down every submit.
CREATE INDEX tasks_owner ON tasks (owner, id, digest) WHERE deleted_at IS NULL;
CREATE INDEX tasks_queue ON tasks (card, owner, due_at) WHERE state = 'queued';
CREATE INDEX tasks_start ON tasks (start_by) WHERE state = 'queued';
CREATE INDEX tasks_due ON tasks (state, due_at) WHERE state IN ('fetching', 'completed', 'failed');
CREATE INDEX tasks_work ON tasks (account, state, due_at) WHERE state IN ('held', 'running', 'storing');
CREATE INDEX tasks_leased ON tasks (id) WHERE leased = 1;

-- When each (card, owner) had its last turn. The one served longest ago is next.
CREATE TABLE turns (
  card   TEXT NOT NULL,
  owner  TEXT NOT NULL,
  served INTEGER NOT NULL,
  PRIMARY KEY (card, owner)
) STRICT, WITHOUT ROWID;

-- The slots of held and running tasks: of the account and, if these have a cap, of the card and the owner.
CREATE TABLE slots (
  scope TEXT NOT NULL,
  task  TEXT NOT NULL,
  PRIMARY KEY (scope, task)
) STRICT, WITHOUT ROWID;
CREATE INDEX slots_task ON slots (task);

CREATE TABLE attempts (
  id             TEXT PRIMARY KEY,
  task           TEXT NOT NULL,
  number         INTEGER NOT NULL,
  account        TEXT NOT NULL,
  key_version    TEXT NOT NULL,
  upstream_model TEXT NOT NULL,
  opened_at      INTEGER NOT NULL,
  state          TEXT NOT NULL,
  operation      TEXT,
  settled_at     INTEGER,
  problem        TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX attempts_task ON attempts (task, number);
CREATE INDEX attempts_state ON attempts (state, opened_at) WHERE state IN ('open', 'abandoned', 'orphan');
-- An operation of a provider never belongs to two attempts.
CREATE UNIQUE INDEX attempts_operation ON attempts (account, operation) WHERE operation IS NOT NULL;

CREATE TABLE events (
  number INTEGER PRIMARY KEY,
  task   TEXT NOT NULL,
  at     INTEGER NOT NULL,
  name   TEXT NOT NULL,
  detail TEXT
) STRICT;
CREATE INDEX events_task ON events (task);

-- The last change of each account's health, as one process reported it.
CREATE TABLE healths (
  account     TEXT PRIMARY KEY,
  key_version TEXT NOT NULL,
  health      TEXT NOT NULL,
  changed_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tokens (
  name       TEXT PRIMARY KEY,
  kind       TEXT NOT NULL,
  digest     TEXT NOT NULL UNIQUE,
  models     TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
