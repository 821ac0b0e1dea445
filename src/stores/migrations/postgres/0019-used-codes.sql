-- Codes of the console that have signed in: the same rows as in the SQLite store.
CREATE TABLE used_codes (
  code  text COLLATE "C" PRIMARY KEY,
  until bigint NOT NULL
);
