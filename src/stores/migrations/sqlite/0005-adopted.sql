-- 1 if the operation was found by a lookup: a response to a submit overrules it.
ALTER TABLE attempts ADD COLUMN adopted INTEGER;

-- Attempts of removed tasks, whose work the provider may still list.
CREATE INDEX attempts_removed ON attempts (opened_at) WHERE state = 'removed';
