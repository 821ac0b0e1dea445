-- Codes of the console that have signed in. A code is forgotten when it has expired.
CREATE TABLE used_codes (
  code  TEXT PRIMARY KEY,
  until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
