-- @compatible_from 0.1.0
-- Version of the program; null of one that is older than this column.
ALTER TABLE instance ADD COLUMN version text;
