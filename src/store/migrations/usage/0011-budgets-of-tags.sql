-- @compatible_from 0.1.0
-- The key_id of a budget is the subject that spends: the id of a key, or a tag as `tag:<name>=<value>`.
-- Open tasks count as spent by the tags that their key had, written as on records.
ALTER TABLE task_hold ADD COLUMN tags text NOT NULL DEFAULT '';
CREATE INDEX task_hold_tags ON task_hold (created_at) WHERE tags <> '';
