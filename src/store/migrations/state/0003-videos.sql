CREATE TABLE video_task (
  id text PRIMARY KEY,
  owner text NOT NULL,
  model text NOT NULL,
  prompt text,
  -- JSON: the checked request with its media; emptied when the upstream has it, or will never have it.
  request text NOT NULL,
  -- JSON: what is echoed of the request, and the prices of its time.
  details text NOT NULL,
  status text NOT NULL CHECK (status IN ('queued', 'in_progress', 'completed', 'failed', 'cancelled', 'expired')),
  -- Where the task machine is: submitting, polling, finalizing, done.
  phase text NOT NULL,
  -- Raised by every change, so that a change that rests on an outdated view is refused.
  version {int} NOT NULL,
  progress {int},
  cancel_requested {int} NOT NULL DEFAULT 0,
  -- JSON: what the upstream made, and where the mirror keeps it.
  assets text NOT NULL DEFAULT '[]',
  -- JSON: what the task machine remembers from one step to the next.
  memory text NOT NULL DEFAULT '{}',
  seconds {int},
  -- In 1e-12 USD.
  cost {int},
  error text,
  error_code text,
  callback_url text,
  created_at {int} NOT NULL,
  updated_at {int} NOT NULL,
  deadline_at {int} NOT NULL,
  settled_at {int},
  -- When mirrored media go away.
  media_expires_at {int},
  deleted_at {int}
);
CREATE INDEX video_task_owner ON video_task (owner, created_at, id);
CREATE INDEX video_task_media ON video_task (media_expires_at);
CREATE INDEX video_task_settled ON video_task (settled_at);

-- A terminal status stands.
-- @sqlite
CREATE TRIGGER video_task_terminal BEFORE UPDATE OF status ON video_task
WHEN OLD.status IN ('completed', 'failed', 'cancelled', 'expired') AND NEW.status <> OLD.status
BEGIN
  SELECT RAISE(ABORT, 'a terminal status never changes');
END;
-- @postgres
CREATE FUNCTION refuse_terminal_change() RETURNS trigger AS $$
BEGIN
  RAISE EXCEPTION 'a terminal status never changes';
END
$$ LANGUAGE plpgsql;
CREATE TRIGGER video_task_terminal BEFORE UPDATE OF status ON video_task FOR EACH ROW
WHEN (OLD.status IN ('completed', 'failed', 'cancelled', 'expired') AND NEW.status <> OLD.status)
EXECUTE FUNCTION refuse_terminal_change();
-- @both

-- One submission to an upstream: written before it is sent.
CREATE TABLE video_attempt (
  id text PRIMARY KEY,
  task_id text NOT NULL REFERENCES video_task (id),
  provider text NOT NULL,
  -- Which of the provider's credentials, by the digest of its key.
  credential text NOT NULL,
  state text NOT NULL CHECK (state IN ('intent', 'sending', 'accepted', 'rejected', 'ambiguous')),
  created_at {int} NOT NULL,
  sent_at {int},
  accepted_at {int},
  -- JSON that only the provider's adapter reads.
  upstream_ref text
);
CREATE INDEX video_attempt_task ON video_attempt (task_id);
CREATE INDEX video_attempt_credential ON video_attempt (provider, credential, accepted_at);

-- The last task of a client's key, `key:...`, and of each request, `request:...`.
CREATE TABLE idempotency (
  owner text NOT NULL,
  key text NOT NULL,
  -- Of the canonical request.
  digest text NOT NULL,
  task_id text NOT NULL,
  created_at {int} NOT NULL,
  PRIMARY KEY (owner, key)
);
CREATE INDEX idempotency_created ON idempotency (created_at);

-- What tasks cost, one row a task.
CREATE TABLE video_ledger (
  task_id text PRIMARY KEY,
  owner text NOT NULL,
  model text NOT NULL,
  provider text NOT NULL,
  seconds {int} NOT NULL,
  -- In 1e-12 USD.
  cost {int} NOT NULL,
  -- Where the figure is from: upstream, catalog or none.
  source text NOT NULL,
  created_at {int} NOT NULL,
  -- Raised by every new figure.
  revision {int} NOT NULL DEFAULT 1
);
