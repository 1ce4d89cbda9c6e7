-- @compatible_from 0.1.0
-- Streams of background responses, for clients that read them again.
CREATE TABLE stored_stream (
  row_id text PRIMARY KEY,
  -- Number of the next event.
  next {int} NOT NULL,
  -- Sum of the batches.
  bytes {int} NOT NULL,
  -- Events after the last batch were not kept, because there were too many.
  truncated {int} NOT NULL DEFAULT 0,
  expires_at {int} NOT NULL
);
CREATE INDEX stored_stream_expiry ON stored_stream (expires_at);

CREATE TABLE stored_event (
  row_id text NOT NULL,
  -- Numbers of the first and the last event of the batch.
  first {int} NOT NULL,
  last {int} NOT NULL,
  -- Encrypted server-sent events.
  content {blob} NOT NULL,
  PRIMARY KEY (row_id, first)
-- @sqlite
) WITHOUT ROWID;
-- @postgres
);
-- @both
