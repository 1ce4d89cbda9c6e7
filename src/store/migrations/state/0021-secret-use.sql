-- @compatible_from 0.1.0
-- Last use of each secret, so that during an overlap it is known which of the two is used.
ALTER TABLE api_key_secret ADD COLUMN last_used_at {int};
