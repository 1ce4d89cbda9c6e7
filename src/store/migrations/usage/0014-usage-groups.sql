-- @compatible_from 0.1.0
-- What gateways that write to the database itself have written down and not yet added to the tables of records and the sums.
CREATE TABLE usage_group (
  instance text NOT NULL,
  number {int} NOT NULL,
  -- JSON: what began, what ended, what was withdrawn.
  records text NOT NULL,
  PRIMARY KEY (instance, number)
);
-- @postgres
-- Rows live for a second: to compress them, or to keep long ones apart, costs more than it saves.
ALTER TABLE usage_group ALTER COLUMN records SET STORAGE EXTERNAL;
ALTER TABLE usage_group SET (toast_tuple_target = 8160);
-- @both
