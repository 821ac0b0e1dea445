-- Webhook endpoints of clients, and the deliveries to them: the same rows as in the SQLite store.
CREATE TABLE endpoints (
  id               text COLLATE "C" PRIMARY KEY,
  owner            text COLLATE "C" NOT NULL,
  name             text NOT NULL,
  url              text NOT NULL,
  event_types      text NOT NULL,
  secret           text NOT NULL,
  old_secret       text,
  old_secret_until bigint,
  created_at       bigint NOT NULL,
  updated_at       bigint NOT NULL,
  disabled_at      bigint,
  disabled_why     text
);
CREATE INDEX endpoints_owner ON endpoints (owner, id);

CREATE TABLE deliveries (
  id         text COLLATE "C" PRIMARY KEY,
  endpoint   text COLLATE "C" NOT NULL,
  owner      text COLLATE "C" NOT NULL,
  event      text NOT NULL,
  type       text NOT NULL,
  task       text NOT NULL,
  created_at bigint NOT NULL,
  state      text NOT NULL,
  due_at     bigint,
  tries      integer NOT NULL,
  fence      bigint NOT NULL,
  leased     boolean NOT NULL DEFAULT false,
  ended_at   bigint,
  log        text NOT NULL
);
-- A list reads each state from it, and merges them.
CREATE INDEX deliveries_endpoint ON deliveries (endpoint, state, id);
-- By endpoint first: a search steps over an endpoint at once, however many deliveries wait for it.
CREATE INDEX deliveries_due ON deliveries (endpoint, due_at) WHERE state = 'pending';
CREATE INDEX deliveries_ended ON deliveries (ended_at) WHERE ended_at IS NOT NULL;
