-- @compatible_from 0.1.0
-- Times of the last events of a kind, such as the last backup.
CREATE TABLE moment (
  name text PRIMARY KEY,
  -- Unix milliseconds.
  at {int} NOT NULL
);
