-- @compatible_from 0.1.0
-- What each gateway last knew of the endpoints that it used, for the others, and for the one that starts after it.
CREATE TABLE endpoint_snapshot (
  instance text PRIMARY KEY,
  -- Unix milliseconds.
  at {int} NOT NULL,
  -- JSON, of bounded length.
  snapshot text NOT NULL
);
