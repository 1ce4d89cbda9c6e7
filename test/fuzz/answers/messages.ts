/** Generated answers of upstreams that speak messages, and the streams that say the same. */

import fc from 'fast-check';
import type { Json } from '../../../src/core/json/json.ts';
import {
  CUT_CALL,
  type Cut,
  count,
  cutterOf,
  input,
  lengths,
  name,
  sometimes,
  state,
  text,
  type UpstreamAnswer,
  url,
} from './drawing.ts';

const citation = fc.oneof(
  fc.record({ type: fc.constant('web_search_result_location'), cited_text: text, title: text, url }),
  fc.record({
    ...{ type: fc.constant('char_location'), cited_text: text, document_index: fc.nat(2), document_title: text },
    ...{ start_char_index: fc.nat(9), end_char_index: fc.nat(99) },
  }),
);

const messagesBlock = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant('text'), text, citations: fc.array(citation, { maxLength: 2 }) }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('thinking'), thinking: text, signature: state }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('thinking'), thinking: fc.constant(''), signature: state }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('redacted_thinking'), data: state }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('tool_use'), name, input }) },
  { weight: 1, arbitrary: fc.constant({ type: 'block_of_tomorrow', inner: [1] }) },
  {
    weight: 1,
    arbitrary: text.map((query) => ({ type: 'server_tool_use', name: 'web_search', id: 'srv_1', input: { query } })),
  },
  {
    weight: 1,
    arbitrary: url.map((one) => ({
      ...{ type: 'web_search_tool_result', tool_use_id: 'srv_1' },
      content: [{ type: 'web_search_result', url: one, title: 'page', encrypted_content: 'e' }],
    })),
  },
);

const messagesEnd = fc.oneof(
  fc
    .constantFrom('end_turn', 'max_tokens', 'tool_use', 'refusal', 'model_context_window_exceeded', 'tomorrow')
    .map((stop_reason) => ({ stop_reason, stop_sequence: null })),
  fc.constant({ stop_reason: 'stop_sequence', stop_sequence: 'END' }),
);

const messagesUsage = fc
  .record({ fresh: count, read: count, written: count, hour: count, output: count, searches: fc.nat(2) })
  .map(({ fresh, read, written, hour, output, searches }) => ({
    ...{ input_tokens: fresh + 1, cache_read_input_tokens: read, cache_creation_input_tokens: written + hour },
    cache_creation: { ephemeral_5m_input_tokens: written, ephemeral_1h_input_tokens: hour },
    output_tokens: output + 1,
    ...(searches > 0 && { server_tool_use: { web_search_requests: searches } }),
  }));

export const messages = fc
  .record({
    blocks: fc.array(messagesBlock, { minLength: 1, maxLength: 6 }),
    end: messagesEnd,
    usage: messagesUsage,
    lengths,
    isCut: sometimes,
    late: fc.array(state, { maxLength: 1 }),
  })
  .map((drawn): UpstreamAnswer => {
    const { usage, lengths, isCut } = drawn;
    const states = drawn.late.map((data) => ({ type: 'redacted_thinking', data }));
    const bare = isCut ? [{ type: 'tool_use', name: CUT_CALL, input: {} }, ...states] : [];
    const end = isCut ? { stop_reason: 'max_tokens', stop_sequence: null } : drawn.end;
    const content: Json[] = [...drawn.blocks, ...bare].map((block, index) =>
      block.type === 'tool_use' ? { ...block, id: `toolu_${index}` } : block,
    );
    const head = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm' };
    const cut = cutterOf(lengths);
    const events = [
      { type: 'message_start', message: { ...head, content: [], usage: { ...usage, output_tokens: 1 } } },
      { type: 'ping' },
      ...content.flatMap((block, index) => [
        { type: 'content_block_start', index, content_block: messagesStart(block) },
        ...messagesDeltas(block, cut).map((delta) => ({ type: 'content_block_delta', index, delta })),
        { type: 'content_block_stop', index },
      ]),
      { type: 'message_delta', delta: end, usage: { output_tokens: usage.output_tokens } },
      { type: 'message_stop' },
    ];
    const frames = events.map((data) => ({ event: data.type, data }));
    return { whole: { ...head, content, ...end, usage }, frames, isCut };
  });

function messagesStart(block: Json): Json {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: '' };
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' };
    case 'tool_use':
    case 'server_tool_use':
      return { ...block, input: {} };
    default:
      return block;
  }
}

function messagesDeltas(block: Json, cut: Cut): Json[] {
  switch (block.type) {
    case 'text':
      return [
        ...cut(block.text).map((piece) => ({ type: 'text_delta', text: piece })),
        ...block.citations.map((citation: Json) => ({ type: 'citations_delta', citation })),
      ];
    case 'thinking':
      return [
        ...cut(block.thinking).map((thinking) => ({ type: 'thinking_delta', thinking })),
        { type: 'signature_delta', signature: block.signature },
      ];
    case 'tool_use':
    case 'server_tool_use': {
      const isBare = Object.keys(block.input).length === 0;
      const json = isBare ? '' : JSON.stringify(block.input);
      return ['', ...cut(json)].map((partial_json) => ({ type: 'input_json_delta', partial_json }));
    }
    default:
      return [];
  }
}
