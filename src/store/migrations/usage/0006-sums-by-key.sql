-- Reports of one key read its hours alone.
CREATE INDEX usage_hour_key ON usage_hour (key_id, hour);
