-- The source of a derived video, and the idempotency key: a key belongs to one task of its owner as long as the row
-- exists.
ALTER TABLE tasks ADD COLUMN idempotency_key text COLLATE "C";
ALTER TABLE tasks ADD COLUMN remixed_from text;
ALTER TABLE tasks ADD COLUMN source text;
CREATE UNIQUE INDEX tasks_key ON tasks (owner, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- Notices for clients. Numbers may become visible out of order, because transactions overlap.
CREATE TABLE notices (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  owner  text COLLATE "C" NOT NULL,
  task   text COLLATE "C" NOT NULL,
  at     bigint NOT NULL,
  kind   text NOT NULL
);
CREATE INDEX notices_owner ON notices (owner, number);
