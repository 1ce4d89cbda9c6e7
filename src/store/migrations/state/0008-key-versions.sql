-- Version of the keys at the last change of each, so that caches read only those that changed.
ALTER TABLE api_key ADD COLUMN version {int} NOT NULL DEFAULT 0;
CREATE INDEX api_key_version ON api_key (version);
