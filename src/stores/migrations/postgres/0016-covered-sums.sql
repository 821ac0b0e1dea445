-- The same index as in the SQLite store.
DROP INDEX entries_account;
CREATE INDEX entries_account ON entries (account, currency, submitted_at) INCLUDE (amount);
