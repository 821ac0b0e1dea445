-- What a film is made of, and what its client calls the request: the same key of the same owner is the same task, for as
-- long as its row is there.
ALTER TABLE tasks ADD COLUMN idempotency_key TEXT;
ALTER TABLE tasks ADD COLUMN remixed_from TEXT;
ALTER TABLE tasks ADD COLUMN source TEXT;
CREATE UNIQUE INDEX tasks_key ON tasks (owner, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- What clients are told of their tasks, in order. A number is never given twice: it is how a client says what it has seen.
CREATE TABLE notices (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  owner  TEXT NOT NULL,
  task   TEXT NOT NULL,
  at     INTEGER NOT NULL,
  kind   TEXT NOT NULL
) STRICT;
CREATE INDEX notices_owner ON notices (owner, number);
