-- @compatible_from 0.1.0
-- Links that open one session of the dashboard each.
CREATE TABLE login_code (
  -- SHA-256 of the code.
  digest text PRIMARY KEY,
  role text NOT NULL,
  created_at {int} NOT NULL,
  expires_at {int} NOT NULL
);

-- Sessions of the dashboard.
CREATE TABLE session (
  -- SHA-256 of the cookie.
  digest text PRIMARY KEY,
  id text NOT NULL UNIQUE,
  role text NOT NULL,
  -- The digest of the key that opened it, and the id of that key.
  key_digest text,
  key_id text,
  -- SHA-256 of cookie and admin token, if the token opened it.
  token_proof text,
  opened_with text NOT NULL,
  opened_at {int} NOT NULL,
  -- Precise to a minute.
  seen_at {int} NOT NULL
);
