-- 1 where the operation was found by a lookup: a direct answer overrules it.
ALTER TABLE attempts ADD COLUMN adopted INTEGER;
