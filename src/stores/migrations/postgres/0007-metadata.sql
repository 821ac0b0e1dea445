-- usable by: 3
-- What a client keeps with its video, as JSON: names and short values that mean nothing to us. NULL where there is nothing.
ALTER TABLE tasks ADD COLUMN metadata text;
