-- usable by: 15
-- What operators declare while the service runs: the same rows as in the SQLite store. From this version on, secrets are
-- encrypted: a version before it would sign webhooks with the encrypted text.
CREATE TABLE declarations (
  id         text COLLATE "C" PRIMARY KEY,
  kind       text NOT NULL,
  name       text NOT NULL,
  settings   text NOT NULL,
  secret     text,
  mode       text NOT NULL,
  created_at bigint NOT NULL,
  changed_at bigint NOT NULL,
  removed_at bigint,
  revision   bigint NOT NULL
);
CREATE UNIQUE INDEX declarations_revision ON declarations (revision);
