-- @compatible_from 0.1.0
-- Conversations: items of their own, which responses read and append. In stored_total, a conversation counts as one response.
CREATE TABLE conversation (
  id text PRIMARY KEY,
  -- API key.
  owner text NOT NULL,
  created_at {int} NOT NULL,
  -- Last use.
  changed_at {int} NOT NULL,
  expires_at {int} NOT NULL,
  -- Encrypted JSON.
  metadata {blob} NOT NULL,
  -- Position of the next item.
  next {int} NOT NULL,
  items {int} NOT NULL,
  -- Size of the metadata and the contents, and of the items with their parts.
  bytes {int} NOT NULL,
  whole_bytes {int} NOT NULL,
  -- The response that is being made in it, and until when it holds the conversation.
  holder text,
  held_until {int}
);
CREATE INDEX conversation_owner ON conversation (owner, changed_at, id);
CREATE INDEX conversation_expiry ON conversation (expires_at, owner);

CREATE TABLE conversation_item (
  -- Random.
  row_id text PRIMARY KEY,
  owner text NOT NULL,
  conversation text NOT NULL,
  position {int} NOT NULL,
  -- As the client knows it.
  id text NOT NULL,
  -- Encrypted JSON.
  content {blob} NOT NULL,
  -- Size of the content, and with its parts.
  bytes {int} NOT NULL,
  whole_bytes {int} NOT NULL
);
CREATE UNIQUE INDEX conversation_item_position ON conversation_item (conversation, position);
CREATE UNIQUE INDEX conversation_item_id ON conversation_item (conversation, id);
CREATE INDEX conversation_item_owner ON conversation_item (owner, id);
