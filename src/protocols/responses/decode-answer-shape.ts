/** Expected types of the members read from an upstream's answer or event. */

import { below, count, either, list, number, object, record, text, word } from '../../core/json/shape.ts';

/** Above the items of any real answer, and the parts of any item. */
const MAX_POSITION = 100_000;

const position = below(MAX_POSITION);

const seen = { token: text, logprob: number, bytes: list(below(256)) };
const token = record({ ...seen, top_logprobs: list(record(seen, 'token')) }, 'token');

const annotation = record({ type: text, url: text, title: text, filename: text, start_index: count, end_index: count });

const part = record({ type: text, text, refusal: text, annotations: list(annotation), logprobs: list(token) });

const item = record({
  id: word,
  type: text,
  status: text,
  phase: text,
  content: either(text, list(part)),
  summary: list(record({ text })),
  encrypted_content: text,
  call_id: word,
  name: text,
  arguments: either(text, object),
  input: text,
  result: text,
  output_format: text,
});

export const response = record({
  id: word,
  model: text,
  created_at: count,
  status: text,
  incomplete_details: record({ reason: text }),
  output: list(item),
});

export const event = record({
  type: text,
  output_index: position,
  content_index: position,
  summary_index: position,
  item_id: word,
  delta: text,
  text,
  refusal: text,
  arguments: either(text, object),
  input: text,
  logprobs: list(token),
  annotation,
  part,
  item,
  response,
});
