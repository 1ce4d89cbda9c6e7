-- @compatible_from 0.1.0
-- When a request ended, in Unix milliseconds, and how it was routed: JSON of at most 4 kB.
ALTER TABLE usage_request ADD COLUMN ended_at {int};
ALTER TABLE usage_request ADD COLUMN trace text;
-- The only other order of requests: lists of some of them read the hours that the sums name.
CREATE INDEX usage_request_ended ON usage_request (ended_at, id);
