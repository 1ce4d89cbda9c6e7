-- @compatible_from 0.1.0
-- Hours whose records are exported.
CREATE TABLE usage_export (
  -- Hours since 1970.
  hour {int} PRIMARY KEY,
  -- Records that the hour had: with more of them it is looked at again.
  records {int} NOT NULL
);

-- The gateway that exports, of those that share this store.
CREATE TABLE usage_export_lease (
  id {int} PRIMARY KEY,
  holder text NOT NULL,
  -- Unix milliseconds.
  until {int} NOT NULL
);
