-- Records that the store refused: set aside, so that those beside them go on. Counted nowhere.
CREATE TABLE usage_refused (
  id text PRIMARY KEY,
  -- Unix milliseconds.
  refused_at {int} NOT NULL,
  -- Why, in the engine's own words.
  problem text NOT NULL,
  -- JSON of the record; money is in 1e-12 USD.
  record text NOT NULL
);
-- @sqlite
-- Sums that became floating point by an overflow.
UPDATE budget SET spent = CAST(spent AS INTEGER) WHERE typeof(spent) = 'real';
UPDATE usage_hour SET cost = CAST(cost AS INTEGER) WHERE typeof(cost) = 'real';
