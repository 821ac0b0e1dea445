-- The trace of a task: the context of its span, and the id of the span before it. NULL if tracing was off when it was created.
ALTER TABLE tasks ADD COLUMN trace TEXT;
