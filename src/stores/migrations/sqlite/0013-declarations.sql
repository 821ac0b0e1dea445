-- What operators declare while the service runs: accounts, models and aliases. `settings` is JSON, in the words of
-- filmgate.yaml. `secret` is the key of an account, encrypted. Each change of any of them gets the next `revision`.
CREATE TABLE declarations (
  id         TEXT PRIMARY KEY,
  kind       TEXT NOT NULL,
  name       TEXT NOT NULL,
  settings   TEXT NOT NULL,
  secret     TEXT,
  mode       TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  removed_at INTEGER,
  revision   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX declarations_revision ON declarations (revision);
