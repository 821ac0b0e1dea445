-- The id of the token that created a task; NULL if an earlier release created it.
ALTER TABLE tasks ADD COLUMN token TEXT;

-- A row for each task that ended, and for each attempt that cost money apart from that. `id` is the task, or the attempt;
-- `task` is NULL if it is the same. Amounts are millionths of one unit of the currency. A number is never used twice: it is
-- a cursor. Rows are never changed; old ones are removed.
CREATE TABLE usages (
  number   INTEGER PRIMARY KEY AUTOINCREMENT,
  id       TEXT NOT NULL UNIQUE,
  at       INTEGER NOT NULL,
  task     TEXT,
  owner    TEXT NOT NULL,
  token    TEXT,
  model    TEXT NOT NULL,
  account  TEXT,
  outcome  TEXT NOT NULL,
  code     TEXT,
  seconds  INTEGER NOT NULL,
  took_ms  INTEGER NOT NULL,
  revenue  INTEGER NOT NULL,
  cost     INTEGER NOT NULL,
  currency TEXT
) STRICT;
CREATE INDEX usages_at ON usages (at);
CREATE INDEX usages_owner ON usages (owner, at);
CREATE TRIGGER usages_unchanged BEFORE UPDATE ON usages BEGIN
  SELECT raise(ABORT, 'a row of usage is never changed');
END;

-- The number of the last row that was sent to another service, and the process that sends the next ones.
CREATE TABLE cursors (
  name         TEXT PRIMARY KEY,
  number       INTEGER NOT NULL,
  holder       TEXT NOT NULL,
  leased_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
