-- The same column as in the SQLite store. Tasks that an older version creates during a rolling update have no trace.
ALTER TABLE tasks ADD COLUMN trace text;
