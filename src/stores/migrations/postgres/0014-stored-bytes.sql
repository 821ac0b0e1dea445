-- The same column as in the SQLite store. What an older version stores during a rolling update does not count.
ALTER TABLE tasks ADD COLUMN stored_bytes bigint;
CREATE INDEX tasks_stored ON tasks (owner, id) INCLUDE (stored_bytes) WHERE stored_bytes IS NOT NULL;
