-- Who changed what, in the order in which it was done: written with the change itself, and never changed.
CREATE TABLE audit (
  id {int} PRIMARY KEY,
  at {int} NOT NULL,
  -- Where the change came from: admin, command line, gateway.
  actor text NOT NULL,
  action text NOT NULL,
  -- The id of what was changed.
  subject text NOT NULL,
  -- JSON of what is different, without secrets.
  before text,
  after text,
  request_id text
);
CREATE INDEX audit_subject ON audit (subject, id);

-- @sqlite
CREATE TRIGGER audit_update BEFORE UPDATE ON audit BEGIN
  SELECT RAISE(ABORT, 'the audit log only grows');
END;
CREATE TRIGGER audit_delete BEFORE DELETE ON audit BEGIN
  SELECT RAISE(ABORT, 'the audit log only grows');
END;
-- @postgres
CREATE FUNCTION refuse_audit_change() RETURNS trigger AS $$
BEGIN
  RAISE EXCEPTION 'the audit log only grows';
END
$$ LANGUAGE plpgsql;
CREATE TRIGGER audit_change BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
-- @both
