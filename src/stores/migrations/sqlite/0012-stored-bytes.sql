-- How many bytes of a task are in the bucket: its video and its inputs. NULL if there are none, and on tasks whose last change
-- was before this column existed: those do not count until they change. Only tasks with bytes are in the index.
ALTER TABLE tasks ADD COLUMN stored_bytes INTEGER;
CREATE INDEX tasks_stored ON tasks (owner, id, stored_bytes) WHERE stored_bytes IS NOT NULL;
