-- What a project has spent in a period is summed from the index alone, when a token gets a cap for the first time.
CREATE INDEX entries_spent ON entries (account, currency, submitted_at, amount);
DROP INDEX entries_account;
