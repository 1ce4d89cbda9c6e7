-- What caches compare to learn that something changed: one row a subject, raised by every write to it.
CREATE TABLE version (
  subject text PRIMARY KEY,
  value {int} NOT NULL
);

CREATE TABLE api_key (
  id text PRIMARY KEY,
  name text NOT NULL,
  created_at {int} NOT NULL,
  updated_at {int} NOT NULL,
  expires_at {int},
  revoked_at {int},
  disabled {int} NOT NULL DEFAULT 0,
  last_used_at {int},
  -- JSON: globs of models, scopes, limits, budget.
  settings text NOT NULL DEFAULT '{}'
);
CREATE INDEX api_key_name ON api_key (name);

-- What clients present; a key has two while it is rotated.
CREATE TABLE api_key_secret (
  digest text PRIMARY KEY,
  key_id text NOT NULL REFERENCES api_key (id),
  prefix text NOT NULL,
  created_at {int} NOT NULL,
  expires_at {int}
);
CREATE INDEX api_key_secret_key ON api_key_secret (key_id);

-- What webhooks are signed with: encrypted, each from its moment on, until a newer one is active.
CREATE TABLE webhook_secret (
  id text PRIMARY KEY,
  owner text NOT NULL,
  ciphertext text NOT NULL,
  created_at {int} NOT NULL,
  active_at {int} NOT NULL
);
CREATE INDEX webhook_secret_owner ON webhook_secret (owner, active_at);
