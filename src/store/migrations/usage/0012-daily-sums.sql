-- @compatible_from 0.1.0
-- Sums of usage_hour and usage_part over 24 hours each, so that reports of many days read fewer rows.
CREATE TABLE usage_day (
  -- First of the 24 hours, in hours since 1970.
  start {int} NOT NULL,
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
  PRIMARY KEY (start, key_id, model, provider)
-- @sqlite
) WITHOUT ROWID;
-- @postgres
);
-- @both

CREATE TABLE usage_part_day (
  start {int} NOT NULL,
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
  PRIMARY KEY (start, key_id, tags, model, provider, protocol, status)
-- @sqlite
) WITHOUT ROWID;
-- @postgres
);
-- @both

-- Days whose sums are made or being made. Without a row here, the sums of a day do not count.
CREATE TABLE usage_day_state (
  start {int} PRIMARY KEY,
  -- The build that makes the sums, and how long no other one may take its place, in Unix milliseconds.
  build text NOT NULL,
  until {int} NOT NULL,
  complete {int} NOT NULL
);

-- First hours of days, in hours after those of UTC, by which reports were asked.
CREATE TABLE usage_day_zone (
  first_hour {int} PRIMARY KEY,
  -- Unix milliseconds.
  asked_at {int} NOT NULL
);

-- A change of an hour invalidates the days that include it, whichever version makes the change.
-- @sqlite
CREATE TRIGGER usage_hour_added AFTER INSERT ON usage_hour
BEGIN
  DELETE FROM usage_day_state WHERE start > NEW.hour - 24 AND start <= NEW.hour;
END;
CREATE TRIGGER usage_hour_changed AFTER UPDATE ON usage_hour
BEGIN
  DELETE FROM usage_day_state WHERE start > NEW.hour - 24 AND start <= NEW.hour;
END;
-- @postgres
CREATE FUNCTION usage_hour_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM usage_day_state WHERE start > NEW.hour - 24 AND start <= NEW.hour;
  RETURN NULL;
END $$;
-- Days are summed up hours after their end, so that a change of the latest hours costs no call.
CREATE TRIGGER usage_hour_changed AFTER INSERT OR UPDATE ON usage_hour
  FOR EACH ROW WHEN (NEW.hour < date_part('epoch', now()) / 3600 - 2) EXECUTE FUNCTION usage_hour_changed();
-- @both
