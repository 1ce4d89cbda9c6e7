/** Expected types of the members read from an upstream's response or chunk. */

import { below, count, either, list, number, object, record, text, word } from '../../core/json/shape.ts';

/** Maximum number of candidates, above that of any request. */
export const MAX_CANDIDATES = 128;

const state = record({ google: record({ thought_signature: text }) });

const called = record({ name: text, arguments: either(text, object) });

const call = record({
  index: below(100_000),
  id: word,
  type: text,
  function: called,
  custom: record({ name: text, input: text }),
  extra_content: state,
});

const part = record({
  type: text,
  text,
  thinking: either(text, list(record({ text }))),
  image_url: either(text, record({ url: text })),
});

const detail = record({
  type: text,
  text,
  summary: text,
  data: text,
  signature: text,
  id: word,
  index: count,
});

const annotation = record({
  type: text,
  url_citation: record({ url: text, title: text, content: text, start_index: count, end_index: count }, 'url'),
});

const message = record({
  content: either(word, list(part), object),
  refusal: text,
  reasoning_content: text,
  reasoning: text,
  reasoning_details: list(detail),
  tool_calls: list(call),
  function_call: called,
  audio: record({ id: text, data: text, transcript: text }),
  images: list(record({ image_url: record({ url: text }) })),
  annotations: list(annotation),
  extra_content: state,
});

const seen = { token: text, logprob: number, bytes: list(below(256)) };
const token = record({ ...seen, top_logprobs: list(record(seen, 'token')) }, 'token');

const choice = record({
  index: below(MAX_CANDIDATES),
  delta: message,
  message,
  text: word,
  finish_reason: text,
  native_finish_reason: text,
  stop_reason: text,
  matched_stop: text,
  logprobs: record({ content: list(token) }),
});

export const responseShape = record({
  id: word,
  model: text,
  created: count,
  choices: list(choice),
  search_results: list(record({ url: text, title: text, snippet: text })),
  citations: list(either(text, record({ url: text }))),
});

const prompt = record({
  cached_tokens: count,
  cached_tokens_details: record({ audio_tokens: count, image_tokens: count }),
  cache_write_tokens: count,
  audio_tokens: count,
  image_tokens: count,
});

export const counts = record({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  prompt_tokens_details: prompt,
  completion_tokens_details: record({ reasoning_tokens: count, audio_tokens: count, image_tokens: count }),
  prompt_cache_hit_tokens: count,
  cached_tokens: count,
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
  cache_creation: record({ ephemeral_1h_input_tokens: count }),
  reasoning_tokens: count,
  num_search_queries: count,
  server_tool_use: record({ web_search_requests: count }),
  server_tool_use_details: record({ web_search_requests: count }),
  service_tier: text,
});
