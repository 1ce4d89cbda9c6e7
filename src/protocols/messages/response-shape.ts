/** Expected types of the members read from an upstream's response or event. */

import { count, list, object, record, text } from '../../core/json/shape.ts';

/** Blocks of unknown types are kept unchanged. */
const block = record(
  {
    type: text,
    text,
    thinking: text,
    signature: text,
    data: text,
    id: text,
    name: text,
    input: object,
    citations: list(object),
  },
  'type',
);

const end = { stop_reason: text, stop_sequence: text, stop_details: object };

export const responseShape = record({ id: text, model: text, content: list(block), ...end });

const delta = record({
  type: text,
  text,
  thinking: text,
  partial_json: text,
  signature: text,
  citation: object,
  ...end,
});

export const event = record({ type: text, message: record({ id: text, model: text }), content_block: block, delta });

const counted = {
  type: text,
  input_tokens: count,
  output_tokens: count,
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
  cache_creation: record({ ephemeral_1h_input_tokens: count }),
};

export const counts = record({
  ...counted,
  iterations: list(record(counted)),
  output_tokens_details: record({ thinking_tokens: count }),
  server_tool_use: record({ web_search_requests: count }),
  service_tier: text,
  speed: text,
  inference_geo: text,
});
