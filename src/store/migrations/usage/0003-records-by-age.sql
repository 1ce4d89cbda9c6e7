-- The oldest records of a day go first where they are too many.
CREATE INDEX usage_record_started ON usage_record (started_at);
