-- Which key the secrets are encrypted with: one row, so that gateways that start at the same moment agree.
CREATE TABLE encryption (
  one {int} PRIMARY KEY CHECK (one = 1),
  key_id text NOT NULL
);
