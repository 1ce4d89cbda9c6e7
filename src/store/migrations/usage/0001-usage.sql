-- Gateways that share this store, alive for as long as they say so.
CREATE TABLE instance (
  id text PRIMARY KEY,
  started_at {int} NOT NULL,
  heartbeat_until {int} NOT NULL
);

-- What is on its way to an upstream: written before the client hears the first byte, gone when the record stands.
CREATE TABLE inflight (
  id text PRIMARY KEY,
  -- The gateway that is at it.
  instance text NOT NULL,
  started_at {int} NOT NULL,
  -- JSON: what is known of the record so far, and what the key's budgets hold in reserve for it.
  record text NOT NULL
);
CREATE INDEX inflight_instance ON inflight (instance);

-- One row for every request that reached an upstream.
CREATE TABLE usage_record (
  -- Days since 1970, so that old rows go together.
  day {int} NOT NULL,
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
  estimated {int} NOT NULL DEFAULT 0,
  attempts {int} NOT NULL,
  input_tokens {int} NOT NULL DEFAULT 0,
  output_tokens {int} NOT NULL DEFAULT 0,
  cached_tokens {int} NOT NULL DEFAULT 0,
  cache_write_tokens {int} NOT NULL DEFAULT 0,
  reasoning_tokens {int} NOT NULL DEFAULT 0,
  audio_tokens {int} NOT NULL DEFAULT 0,
  searches {int} NOT NULL DEFAULT 0,
  -- In 1e-12 USD.
  cost {int} NOT NULL DEFAULT 0,
  first_byte_ms {int},
  total_ms {int} NOT NULL,
  -- What the upstream called its answer.
  upstream_id text,
  -- Of a video task: which figure of its ledger this is.
  revision {int} NOT NULL DEFAULT 0,
  PRIMARY KEY (day, id)
);
CREATE INDEX usage_record_id ON usage_record (id);
CREATE INDEX usage_record_upstream ON usage_record (upstream_id);

CREATE TABLE usage_hour (
  -- Hours since 1970.
  hour {int} NOT NULL,
  key_id text NOT NULL,
  model text NOT NULL,
  provider text NOT NULL,
  requests {int} NOT NULL,
  failures {int} NOT NULL,
  input_tokens {int} NOT NULL,
  output_tokens {int} NOT NULL,
  cached_tokens {int} NOT NULL,
  cache_write_tokens {int} NOT NULL,
  reasoning_tokens {int} NOT NULL,
  cost {int} NOT NULL,
  PRIMARY KEY (hour, key_id, model, provider)
);

-- What a key has spent in a period, in 1e-12 USD.
CREATE TABLE budget (
  key_id text NOT NULL,
  period text NOT NULL,
  -- Unix milliseconds; 0 for the period without an end.
  starts_at {int} NOT NULL,
  spent {int} NOT NULL DEFAULT 0,
  PRIMARY KEY (key_id, period, starts_at)
);

-- What video tasks may still cost, in 1e-12 USD, until their records say what they did: it counts as spent.
CREATE TABLE task_hold (
  task_id text PRIMARY KEY,
  key_id text NOT NULL,
  amount {int} NOT NULL,
  -- When the task was made: it counts in the periods of that moment.
  created_at {int} NOT NULL
);
CREATE INDEX task_hold_key ON task_hold (key_id, created_at);

-- What gateways hold of limits that are not by the minute; void when the gateway is dead.
CREATE TABLE hold (
  -- A key, and the model where the limit is of both; with the period of a budget and its beginning.
  subject text NOT NULL,
  instance text NOT NULL,
  amount {int} NOT NULL,
  PRIMARY KEY (subject, instance)
);
-- One row a subject, which is locked while holds are changed.
CREATE TABLE held (
  subject text PRIMARY KEY
);

-- What gateways took of limits by the minute.
CREATE TABLE allowance (
  subject text NOT NULL,
  -- Unix milliseconds.
  window_at {int} NOT NULL,
  taken {int} NOT NULL,
  PRIMARY KEY (subject, window_at)
);
CREATE INDEX allowance_window ON allowance (window_at);
