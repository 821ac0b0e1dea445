-- usable by: 13
-- Usage: the same rows as in the SQLite store. A version without it would end tasks and count nothing.
ALTER TABLE tasks ADD COLUMN token text;

-- Numbers may become visible out of order, because transactions overlap.
CREATE TABLE usages (
  number   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id       text COLLATE "C" NOT NULL UNIQUE,
  at       bigint NOT NULL,
  task     text,
  owner    text COLLATE "C" NOT NULL,
  token    text,
  model    text NOT NULL,
  account  text,
  outcome  text NOT NULL,
  code     text,
  seconds  integer NOT NULL,
  took_ms  bigint NOT NULL,
  revenue  bigint NOT NULL,
  cost     bigint NOT NULL,
  currency text
);
CREATE INDEX usages_at ON usages (at, number);
CREATE INDEX usages_owner ON usages (owner, at, number);

CREATE FUNCTION refuse_usage_change() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION 'a row of usage is never changed'; END $$;
CREATE TRIGGER usages_unchanged BEFORE UPDATE ON usages
  FOR EACH ROW EXECUTE FUNCTION refuse_usage_change();

-- The number of the last row that was sent to another service, and the process that sends the next ones.
CREATE TABLE cursors (
  name         text COLLATE "C" PRIMARY KEY,
  number       bigint NOT NULL,
  holder       text NOT NULL,
  leased_until bigint NOT NULL
);
