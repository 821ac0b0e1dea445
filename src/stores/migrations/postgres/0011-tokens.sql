-- usable by: 11
-- Tokens that change while the service runs. `settings` and `older` (earlier secrets that are still valid) are JSON. Each
-- change of any token gets the next `revision`: processes read what changed after the last one that they know.
CREATE TABLE live_tokens (
  id         text COLLATE "C" PRIMARY KEY,
  name       text COLLATE "C" NOT NULL,
  kind       text NOT NULL,
  digest     text NOT NULL UNIQUE,
  older      text NOT NULL,
  settings   text NOT NULL,
  created_at bigint NOT NULL,
  changed_at bigint NOT NULL,
  revoked_at bigint,
  revision   bigint NOT NULL
);
INSERT INTO live_tokens SELECT
  'tok_0' || left(md5(random()::text || name), 11), name, kind, digest, '[]',
  json_build_object('project', name, 'models', models::json)::text, created_at, created_at, NULL,
  row_number() OVER (ORDER BY created_at, name)
FROM tokens;
DROP TABLE tokens;
ALTER TABLE live_tokens RENAME TO tokens;
CREATE UNIQUE INDEX tokens_name ON tokens (name) WHERE revoked_at IS NULL;
CREATE UNIQUE INDEX tokens_revision ON tokens (revision);

-- Changes by operators, in order. `was` and `becomes` are JSON, without secrets. Rows are never changed.
CREATE TABLE audit (
  number     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at         bigint NOT NULL,
  actor      text NOT NULL,
  actor_name text NOT NULL,
  address    text NOT NULL,
  action     text NOT NULL,
  target     text NOT NULL,
  was        text,
  becomes    text
);
