-- @compatible_from 0.1.0
-- Finds the unfinished responses of a key, which are few among all.
CREATE INDEX stored_response_open ON stored_response (owner) WHERE status IN ('queued', 'in_progress');
