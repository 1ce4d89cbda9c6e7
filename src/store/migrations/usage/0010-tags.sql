-- @compatible_from 0.1.0
-- Tags of the key when the request began: `name=value` in the order of their names, separated by spaces; null in records of
-- earlier versions, which usage_part does not include.
ALTER TABLE usage_request ADD COLUMN tags text;
ALTER TABLE usage_record ADD COLUMN tags text;

-- Parts of the rows of usage_hour, which has more where an earlier version wrote records.
CREATE TABLE usage_part (
  -- Hours since 1970.
  hour {int} NOT NULL,
  key_id text NOT NULL,
  tags text NOT NULL,
  model text NOT NULL,
  provider text NOT NULL,
  protocol text NOT NULL,
  status text NOT NULL,
  requests {int} NOT NULL,
  failures {int} NOT NULL,
  input_tokens {int} NOT NULL,
  output_tokens {int} NOT NULL,
  cached_tokens {int} NOT NULL,
  cache_write_tokens {int} NOT NULL,
  reasoning_tokens {int} NOT NULL,
  cost {int} NOT NULL,
  PRIMARY KEY (hour, key_id, tags, model, provider, protocol, status)
-- @sqlite
) WITHOUT ROWID;
-- @postgres
);
-- @both
-- Reports of one key read its hours alone.
CREATE INDEX usage_part_key ON usage_part (key_id, hour);
