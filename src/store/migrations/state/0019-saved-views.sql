-- @compatible_from 0.1.0
-- Addresses of pages of the dashboard that were given a name.
CREATE TABLE saved_view (
  -- Id of a key, or `operators`.
  owner text NOT NULL,
  id text NOT NULL,
  -- Path of the page.
  page text NOT NULL,
  name text NOT NULL,
  -- Path and search of the page.
  address text NOT NULL,
  -- Unix milliseconds.
  updated_at {int} NOT NULL,
  PRIMARY KEY (owner, id)
);
CREATE UNIQUE INDEX saved_view_name ON saved_view (owner, page, name);
