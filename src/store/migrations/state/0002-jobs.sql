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
  -- Times in a row that this gateway was at fault.
  faults {int} NOT NULL DEFAULT 0,
  -- 1 for one that many attempts have not ended: it leaves room for others.
  late {int} NOT NULL DEFAULT 0,
  UNIQUE (kind, ref)
);
CREATE INDEX job_due ON job (kind, late, due_at);
CREATE INDEX job_queue ON job (kind, late, lane, owner, due_at);
CREATE INDEX job_held ON job (kind, lease_until) WHERE lease <> '';

-- Lanes whose far end cannot be reached, and how often in a row.
CREATE TABLE job_lane (
  kind text NOT NULL,
  lane text NOT NULL,
  failures {int} NOT NULL,
  PRIMARY KEY (kind, lane)
);

-- Who claims jobs of a kind holds its row, so that nobody else's claims change what is counted.
CREATE TABLE job_turn (
  kind text PRIMARY KEY
);
