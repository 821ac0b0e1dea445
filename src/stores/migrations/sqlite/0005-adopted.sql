-- 1 where the operation was found by a lookup: a direct answer overrules it.
ALTER TABLE attempts ADD COLUMN adopted INTEGER;

-- What a deleted task's provider may still list.
CREATE INDEX attempts_removed ON attempts (opened_at) WHERE state = 'removed';
