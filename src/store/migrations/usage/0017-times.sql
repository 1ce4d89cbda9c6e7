-- @compatible_from 0.1.0
-- Requests of a sum by their times, see src/store/time-counts.ts; null where no request has been counted, as of earlier versions.
-- @sqlite
ALTER TABLE usage_part ADD COLUMN times {blob};
ALTER TABLE usage_part_day ADD COLUMN times {blob};
-- @postgres
ALTER TABLE usage_part ADD COLUMN times integer[];
ALTER TABLE usage_part_day ADD COLUMN times integer[];
-- @both
