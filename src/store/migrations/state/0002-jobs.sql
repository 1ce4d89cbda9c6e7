-- What is still to be done, and when.
CREATE TABLE job (
  id text PRIMARY KEY,
  kind text NOT NULL,
  -- What it is about, e.g. the id of a task.
  ref text NOT NULL,
  -- Jobs of one lane share a limit: the host of a receiver, the credential of a provider.
  lane text NOT NULL DEFAULT '',
  owner text NOT NULL DEFAULT '',
  due_at {int} NOT NULL,
  lease text NOT NULL DEFAULT '',
  lease_until {int} NOT NULL DEFAULT 0,
  -- Attempts that had an outcome.
  attempt {int} NOT NULL DEFAULT 0,
  -- Times it was taken, with or without an outcome.
  claims {int} NOT NULL DEFAULT 0,
  UNIQUE (kind, ref)
);
CREATE INDEX job_due ON job (kind, due_at);
CREATE INDEX job_lane ON job (kind, lane, due_at);

-- Gateways that share this store.
CREATE TABLE instance (
  id text PRIMARY KEY,
  started_at {int} NOT NULL,
  heartbeat_until {int} NOT NULL
);
