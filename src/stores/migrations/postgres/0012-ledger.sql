-- usable by: 12
-- The ledger: the same rows as in the SQLite store. A version without it would end tasks and post nothing.
ALTER TABLE tasks ADD COLUMN price text, ADD COLUMN usage text;

CREATE TABLE entries (
  task         text COLLATE "C" NOT NULL,
  step         text COLLATE "C" NOT NULL,
  account      text COLLATE "C" NOT NULL,
  amount       bigint NOT NULL,
  currency     text COLLATE "C" NOT NULL,
  at           bigint NOT NULL,
  submitted_at bigint NOT NULL,
  PRIMARY KEY (task, step, account)
);
CREATE INDEX entries_account ON entries (account, currency, submitted_at);

CREATE FUNCTION refuse_entry_change() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION 'an entry of the ledger is never changed'; END $$;
CREATE TRIGGER entries_unchanged BEFORE UPDATE OR DELETE ON entries
  FOR EACH ROW EXECUTE FUNCTION refuse_entry_change();

-- Whoever changes a counter of a scope and currency locks its total first. Rows are changed often and in place.
CREATE TABLE spends (
  scope    text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  period   text COLLATE "C" NOT NULL,
  starts   bigint NOT NULL,
  ends     bigint NOT NULL,
  amount   bigint NOT NULL,
  PRIMARY KEY (scope, currency, period)
) WITH (fillfactor = 50);
