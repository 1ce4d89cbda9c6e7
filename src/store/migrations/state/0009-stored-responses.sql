-- Responses of the Responses protocol that requests may name: kept here with their content, or by their provider without.
CREATE TABLE stored_response (
  -- Random. Ids of clients are not unique: small servers count theirs from 1.
  row_id text PRIMARY KEY,
  -- API key.
  owner text NOT NULL,
  -- As the client knows it.
  id text NOT NULL,
  status text NOT NULL CHECK (status IN ('queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled')),
  background {int} NOT NULL DEFAULT 0,
  created_at {int} NOT NULL,
  expires_at {int} NOT NULL,
  -- The row_id of the response that it continues.
  previous text,
  -- As the client named it.
  model text NOT NULL,
  provider text NOT NULL,
  -- Which of the provider's credentials, by its digest; of a response that the provider keeps.
  credential text,
  -- Encrypted JSON; NULL if the provider keeps it.
  content {blob},
  -- Input and output items.
  items {int} NOT NULL,
  -- Size of the content, and with its parts.
  bytes {int} NOT NULL,
  whole_bytes {int} NOT NULL
);
CREATE INDEX stored_response_owner ON stored_response (owner, created_at, row_id);
CREATE INDEX stored_response_expiry ON stored_response (expires_at, owner);

-- Ids by which requests name responses and their output items; the newest response has an id that was issued twice.
CREATE TABLE stored_name (
  owner text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('response', 'item')),
  name text NOT NULL,
  row_id text NOT NULL,
  -- Index of the item in the output; 0 of a response.
  position {int} NOT NULL,
  PRIMARY KEY (owner, kind, name)
-- @sqlite
) WITHOUT ROWID;
-- @postgres
);
-- @both
CREATE INDEX stored_name_row ON stored_name (row_id);

-- Large parts of contents, which are stored once for each owner.
CREATE TABLE stored_part (
  owner text NOT NULL,
  -- Keyed digest of the content.
  digest text NOT NULL,
  content {blob} NOT NULL,
  bytes {int} NOT NULL,
  PRIMARY KEY (owner, digest)
);
CREATE TABLE stored_part_use (
  row_id text NOT NULL,
  owner text NOT NULL,
  digest text NOT NULL,
  PRIMARY KEY (row_id, digest)
-- @sqlite
) WITHOUT ROWID;
-- @postgres
);
-- @both
CREATE INDEX stored_part_use_digest ON stored_part_use (owner, digest);

-- Sums of each owner. Its row is locked first by every change of the owner's responses.
CREATE TABLE stored_total (
  owner text PRIMARY KEY,
  responses {int} NOT NULL,
  bytes {int} NOT NULL
);
