-- Webhooks owed and sent. The id is the idempotency key `<task id>-<status>`; one task has one.
CREATE TABLE delivery (
  id text PRIMARY KEY,
  task_id text NOT NULL UNIQUE,
  owner text NOT NULL,
  url text NOT NULL,
  -- The bytes that are signed and sent at every attempt; gone when the task is deleted and nothing is owed any more.
  body {blob},
  state text NOT NULL CHECK (state IN ('pending', 'delivered', 'exhausted')),
  -- Automatic attempts begun, so that a crash amid one cannot lead to more than there may be.
  begun {int} NOT NULL DEFAULT 0,
  -- Attempts in the log, those of replays included.
  attempts {int} NOT NULL DEFAULT 0,
  created_at {int} NOT NULL,
  settled_at {int}
);
CREATE INDEX delivery_owner ON delivery (owner, created_at);

CREATE TABLE delivery_attempt (
  delivery_id text NOT NULL REFERENCES delivery (id),
  n {int} NOT NULL,
  -- What caused it: schedule or replay.
  trigger_kind text NOT NULL,
  scheduled_at {int} NOT NULL,
  started_at {int} NOT NULL,
  ended_at {int} NOT NULL,
  outcome text NOT NULL,
  status {int},
  -- For the operator only.
  address text,
  retry_after {int},
  next_due_at {int},
  PRIMARY KEY (delivery_id, n)
);
