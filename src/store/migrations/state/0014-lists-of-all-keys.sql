-- @compatible_from 0.1.0
-- Tasks and webhooks of all keys, newest first.
CREATE INDEX video_task_created ON video_task (created_at, id);
CREATE INDEX delivery_created ON delivery (created_at, id);
