-- The source of a derived video, and the idempotency key: a key belongs to one task of its owner as long as the row
-- exists.
ALTER TABLE tasks ADD COLUMN idempotency_key TEXT;
ALTER TABLE tasks ADD COLUMN remixed_from TEXT;
ALTER TABLE tasks ADD COLUMN source TEXT;
CREATE UNIQUE INDEX tasks_key ON tasks (owner, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- Notices for clients, in order. A number is never used twice: clients use it as a cursor.
CREATE TABLE notices (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  owner  TEXT NOT NULL,
  task   TEXT NOT NULL,
  at     INTEGER NOT NULL,
  kind   TEXT NOT NULL
) STRICT;
CREATE INDEX notices_owner ON notices (owner, number);
