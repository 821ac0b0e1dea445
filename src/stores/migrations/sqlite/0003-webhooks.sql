-- Webhook endpoints of clients, and the deliveries to them.
CREATE TABLE endpoints (
  id               TEXT PRIMARY KEY,
  owner            TEXT NOT NULL,
  name             TEXT NOT NULL,
  url              TEXT NOT NULL,
  event_types      TEXT NOT NULL,
  secret           TEXT NOT NULL,
  old_secret       TEXT,
  old_secret_until INTEGER,
  created_at       INTEGER NOT NULL,
  updated_at       INTEGER NOT NULL,
  disabled_at      INTEGER,
  disabled_why     TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX endpoints_owner ON endpoints (owner, id);

-- `due_at` is when the next try is due and, while a lease is held, when that lease ends.
CREATE TABLE deliveries (
  id         TEXT PRIMARY KEY,
  endpoint   TEXT NOT NULL,
  owner      TEXT NOT NULL,
  event      TEXT NOT NULL,
  type       TEXT NOT NULL,
  task       TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  state      TEXT NOT NULL,
  due_at     INTEGER,
  tries      INTEGER NOT NULL,
  fence      INTEGER NOT NULL,
  leased     INTEGER NOT NULL DEFAULT 0,
  ended_at   INTEGER,
  log        TEXT NOT NULL
) STRICT;
-- A list reads each state from it, and merges them.
CREATE INDEX deliveries_endpoint ON deliveries (endpoint, state, id);
-- By endpoint first: a search steps over an endpoint at once, however many deliveries wait for it.
CREATE INDEX deliveries_due ON deliveries (endpoint, due_at) WHERE state = 'pending';
CREATE INDEX deliveries_ended ON deliveries (ended_at) WHERE ended_at IS NOT NULL;
