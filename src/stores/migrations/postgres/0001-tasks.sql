-- The same rows as in the SQLite store, and the same meaning: times are milliseconds since the epoch, by the database's
-- clock; `due_at` is when the next action is due and, while a lease is held, when that lease ends. Names are compared
-- byte by byte, so that lists and queues have one order whatever the locale of the cluster.
CREATE TABLE tasks (
  id             text COLLATE "C" PRIMARY KEY,
  owner          text COLLATE "C" NOT NULL,
  model          text NOT NULL,
  card           text COLLATE "C" NOT NULL,
  prompt         text NOT NULL,
  seconds        integer NOT NULL,
  width          integer NOT NULL,
  height         integer NOT NULL,
  parameters     text NOT NULL,
  created_at     bigint NOT NULL,
  digest         bigint NOT NULL,
  finish_by      bigint NOT NULL,
  image          text,
  state          text NOT NULL,
  progress       integer NOT NULL,
  start_by       bigint NOT NULL,
  started_at     bigint,
  missing_at     bigint,
  completed_at   bigint,
  expires_at     bigint,
  account        text COLLATE "C",
  attempt        text,
  attempts       integer NOT NULL,
  tried          text,
  operation      text,
  output         text,
  video          text,
  error          text,
  due_at         bigint,
  tries          integer NOT NULL,
  fence          bigint NOT NULL,
  leased         boolean NOT NULL DEFAULT false,
  deleted_at     bigint
);

-- Each index has only the rows of its own states: finished tasks, however many, are in only two of them.
CREATE INDEX tasks_owner ON tasks (owner, id) INCLUDE (digest) WHERE deleted_at IS NULL;
CREATE INDEX tasks_queue ON tasks (card, owner, due_at) WHERE state = 'queued';
CREATE INDEX tasks_start ON tasks (start_by) WHERE state = 'queued';
CREATE INDEX tasks_due ON tasks (state, due_at) WHERE state IN ('fetching', 'completed', 'failed') AND due_at IS NOT NULL;
CREATE INDEX tasks_work ON tasks (account, state, due_at) WHERE state IN ('held', 'running', 'storing');
CREATE INDEX tasks_left ON tasks (due_at) WHERE state = 'queued' AND leased;

-- When each (card, owner) had its last turn. Only the key is indexed, so that a turn rewrites its row in place.
CREATE TABLE turns (
  card   text COLLATE "C" NOT NULL,
  owner  text COLLATE "C" NOT NULL,
  served bigint NOT NULL,
  PRIMARY KEY (card, owner)
) WITH (fillfactor = 50);

-- The slots of held and running tasks: of the account and, if these have a cap, of the card and the owner.
CREATE TABLE slots (
  scope text COLLATE "C" NOT NULL,
  task  text COLLATE "C" NOT NULL,
  PRIMARY KEY (scope, task)
);
CREATE INDEX slots_task ON slots (task);

CREATE TABLE attempts (
  id             text COLLATE "C" PRIMARY KEY,
  task           text COLLATE "C" NOT NULL,
  number         integer NOT NULL,
  account        text COLLATE "C" NOT NULL,
  key_version    text NOT NULL,
  upstream_model text NOT NULL,
  opened_at      bigint NOT NULL,
  state          text NOT NULL,
  operation      text,
  -- Its SHA-256: an operation may be longer than what an index takes.
  operation_hash text COLLATE "C",
  settled_at     bigint,
  problem        text
);
CREATE INDEX attempts_task ON attempts (task, number);
CREATE INDEX attempts_state ON attempts (state, opened_at) WHERE state IN ('open', 'abandoned', 'orphan');
-- An operation of a provider never belongs to two attempts.
CREATE UNIQUE INDEX attempts_operation ON attempts (account, operation_hash) WHERE operation_hash IS NOT NULL;

CREATE TABLE events (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  task   text COLLATE "C" NOT NULL,
  at     bigint NOT NULL,
  name   text NOT NULL,
  detail text
);
CREATE INDEX events_task ON events (task, number);

-- The last change of each account's health, as one process reported it.
CREATE TABLE healths (
  account     text PRIMARY KEY,
  key_version text NOT NULL,
  health      text NOT NULL,
  changed_at  bigint NOT NULL
);

CREATE TABLE tokens (
  name       text COLLATE "C" PRIMARY KEY,
  kind       text NOT NULL,
  digest     text NOT NULL UNIQUE,
  models     text NOT NULL,
  created_at bigint NOT NULL
);
