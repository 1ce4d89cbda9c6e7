-- @compatible_from 0.1.0
-- The prices that each model was last seen with, and those before.
CREATE TABLE model_price (
  -- `<provider>/<model_id>`.
  model text PRIMARY KEY,
  -- JSON with sorted names.
  prices text NOT NULL,
  -- When the model was first seen, in Unix milliseconds.
  seen_at {int} NOT NULL,
  -- Null until the prices have changed.
  prices_before text,
  -- When the change was seen, in Unix milliseconds.
  changed_at {int}
);
CREATE INDEX model_price_changed ON model_price (changed_at);
