-- What a project has spent in a period is summed from the index alone, when a token gets a cap for the first time.
DROP INDEX entries_account;
CREATE INDEX entries_account ON entries (account, currency, submitted_at, amount);
