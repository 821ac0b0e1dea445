-- Tokens that change while the service runs. `settings` and `older` (earlier secrets that are still valid) are JSON. Each
-- change of any token gets the next `revision`: processes read what changed after the last one that they know.
CREATE TABLE live_tokens (
  id         TEXT PRIMARY KEY,
  name       TEXT NOT NULL,
  kind       TEXT NOT NULL,
  digest     TEXT NOT NULL UNIQUE,
  older      TEXT NOT NULL,
  settings   TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  revoked_at INTEGER,
  revision   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO live_tokens SELECT
  'tok_0' || substr(lower(hex(randomblob(6))), 2), name, kind, digest, '[]',
  json_object('project', name, 'models', json(models)), created_at, created_at, NULL,
  row_number() OVER (ORDER BY created_at, name)
FROM tokens;
DROP TABLE tokens;
ALTER TABLE live_tokens RENAME TO tokens;
CREATE UNIQUE INDEX tokens_name ON tokens (name) WHERE revoked_at IS NULL;
CREATE UNIQUE INDEX tokens_revision ON tokens (revision);

-- Changes by operators, in order. `was` and `becomes` are JSON, without secrets. Rows are never changed.
CREATE TABLE audit (
  number     INTEGER PRIMARY KEY AUTOINCREMENT,
  at         INTEGER NOT NULL,
  actor      TEXT NOT NULL,
  actor_name TEXT NOT NULL,
  address    TEXT NOT NULL,
  action     TEXT NOT NULL,
  target     TEXT NOT NULL,
  was        TEXT,
  becomes    TEXT
) STRICT;
