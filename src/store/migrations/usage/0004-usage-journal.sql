-- Records of requests, in the order of their time. Records of earlier versions and of video tasks stay in usage_record.
CREATE TABLE usage_request (
  -- Unix milliseconds: the time in the id, or the start of the request where the id has none.
  at {int} NOT NULL,
  id text NOT NULL,
  started_at {int} NOT NULL,
  key_id text NOT NULL,
  -- As the client named it, and what answered.
  model text NOT NULL,
  endpoint_provider text NOT NULL,
  endpoint_model text NOT NULL,
  protocol_in text NOT NULL,
  protocol_out text NOT NULL,
  stream {int} NOT NULL,
  -- completed, partial, failed, cancelled, interrupted.
  status text NOT NULL,
  error_code text,
  finish text,
  estimated {int} NOT NULL,
  attempts {int} NOT NULL,
  input_tokens {int} NOT NULL,
  output_tokens {int} NOT NULL,
  cached_tokens {int} NOT NULL,
  cache_write_tokens {int} NOT NULL,
  reasoning_tokens {int} NOT NULL,
  audio_tokens {int} NOT NULL,
  searches {int} NOT NULL,
  -- In 1e-12 USD.
  cost {int} NOT NULL,
  first_byte_ms {int},
  total_ms {int} NOT NULL,
  -- Id of the upstream's answer.
  upstream_id text,
  PRIMARY KEY (at, id)
-- @sqlite
) WITHOUT ROWID;
-- @postgres
);
-- @both

-- Finds recent requests by another id than their own. Rows of one span of time are side by side, so that a batch touches few pages.
CREATE TABLE usage_request_name (
  span {int} NOT NULL,
  -- 48 bits of a digest of the name.
  hash {int} NOT NULL,
  at {int} NOT NULL,
  PRIMARY KEY (span, hash, at)
-- @sqlite
) WITHOUT ROWID;
-- @postgres
);
-- @both

-- How far the records of each journal are in the store.
CREATE TABLE usage_journal (
  id text PRIMARY KEY,
  segment {int} NOT NULL,
  position {int} NOT NULL,
  -- First segment whose records are needed.
  oldest {int} NOT NULL
);
