-- usable by: 3
-- Metadata of the client, as JSON: names and short values that the service does not use. NULL if there is none.
ALTER TABLE tasks ADD COLUMN metadata text;
