-- Times are milliseconds since the epoch. `due_at` drives everything: it is when the next action is due and, while a
-- lease is held, when that lease ends, so a crashed holder's task simply becomes due again.
CREATE TABLE tasks (
  id             TEXT PRIMARY KEY,
  owner          TEXT NOT NULL,
  model          TEXT NOT NULL,
  provider       TEXT NOT NULL,
  upstream_model TEXT NOT NULL,
  prompt         TEXT NOT NULL,
  seconds        INTEGER NOT NULL,
  width          INTEGER NOT NULL,
  height         INTEGER NOT NULL,
  parameters     TEXT NOT NULL,
  created_at     INTEGER NOT NULL,
  image          TEXT,
  state          TEXT NOT NULL,
  progress       INTEGER NOT NULL,
  started_at     INTEGER,
  completed_at   INTEGER,
  expires_at     INTEGER,
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

CREATE INDEX tasks_due ON tasks (state, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX tasks_provider_due ON tasks (provider, state, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX tasks_owner ON tasks (owner, id) WHERE deleted_at IS NULL;
CREATE INDEX tasks_leased ON tasks (id) WHERE leased = 1;

CREATE TABLE tokens (
  name       TEXT PRIMARY KEY,
  digest     TEXT NOT NULL UNIQUE,
  models     TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
