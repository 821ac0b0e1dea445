-- What a film is made of, and what its client calls the request: the same key of the same owner is the same task, for as
-- long as its row is there.
ALTER TABLE tasks ADD COLUMN idempotency_key text COLLATE "C";
ALTER TABLE tasks ADD COLUMN remixed_from text;
ALTER TABLE tasks ADD COLUMN source text;
CREATE UNIQUE INDEX tasks_key ON tasks (owner, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- What clients are told of their tasks. Numbers may become visible out of order, for transactions overlap.
CREATE TABLE notices (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  owner  text COLLATE "C" NOT NULL,
  task   text COLLATE "C" NOT NULL,
  at     bigint NOT NULL,
  kind   text NOT NULL
);
CREATE INDEX notices_owner ON notices (owner, number);
