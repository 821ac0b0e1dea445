-- The price that a submit froze, as JSON; NULL if the task is free. What it used and what was charged, as JSON.
ALTER TABLE tasks ADD COLUMN price TEXT;
ALTER TABLE tasks ADD COLUMN usage TEXT;

-- The ledger. Amounts are millionths of one unit of the currency, and the amounts of a step sum to 0. The key makes sure that
-- no step of a task is posted twice. `submitted_at` is when the task was created: caps count it then.
CREATE TABLE entries (
  task         TEXT NOT NULL,
  step         TEXT NOT NULL,
  account      TEXT NOT NULL,
  amount       INTEGER NOT NULL,
  currency     TEXT NOT NULL,
  at           INTEGER NOT NULL,
  submitted_at INTEGER NOT NULL,
  PRIMARY KEY (task, step, account)
) STRICT, WITHOUT ROWID;
CREATE INDEX entries_account ON entries (account, currency, submitted_at);

-- Mistakes are corrected by further entries. Only the copy of a move that has not finished may be removed.
CREATE TRIGGER entries_unchanged BEFORE UPDATE ON entries BEGIN
  SELECT raise(ABORT, 'an entry of the ledger is never changed');
END;
CREATE TRIGGER entries_kept BEFORE DELETE ON entries
WHEN NOT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'unfinished_move') BEGIN
  SELECT raise(ABORT, 'an entry of the ledger is never removed');
END;

-- What an owner has reserved and spent on tasks that were created from `starts` until before `ends`.
CREATE TABLE spends (
  scope    TEXT NOT NULL,
  currency TEXT NOT NULL,
  period   TEXT NOT NULL,
  starts   INTEGER NOT NULL,
  ends     INTEGER NOT NULL,
  amount   INTEGER NOT NULL,
  PRIMARY KEY (scope, currency, period)
) STRICT, WITHOUT ROWID;
