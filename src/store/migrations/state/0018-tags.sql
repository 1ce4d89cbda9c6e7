-- @compatible_from 0.1.0
-- Limits and budgets that all keys with a tag share; those of the configuration are not here.
CREATE TABLE tag_allotment (
  -- `<name>=<value>`
  tag text PRIMARY KEY,
  -- JSON.
  allotment text NOT NULL,
  updated_at {int} NOT NULL
);
