-- As in the SQLite store: what a project has spent in a period is summed from the index alone. The old index is dropped last, so
-- that entries can be read meanwhile.
CREATE INDEX entries_spent ON entries (account, currency, submitted_at) INCLUDE (amount);
DROP INDEX entries_account;
