/** Generated answers of upstreams that speak chat completions, and the streams that say the same. */

import fc from 'fast-check';
import type { Json } from '../../../src/core/json/json.ts';
import {
  CUT_CALL,
  type Cut,
  count,
  cutterOf,
  input,
  interleaved,
  lengths,
  logprob,
  name,
  PICTURE,
  sometimes,
  state,
  text,
  type UpstreamAnswer,
  url,
} from './drawing.ts';

const SOUND = 'UklGRgAAAABXQVZF';
const unknown = fc.constantFrom({}, { of_tomorrow: { list: [1, null] } });

const chatCall = fc.record({
  type: fc.constant('function'),
  function: fc.record({
    name,
    arguments: fc.oneof(
      input.map((value) => JSON.stringify(value)),
      fc.constant(''),
    ),
  }),
});

const chatChoice = fc
  .record({
    reasoning: fc.option(text),
    spelling: fc.constantFrom('reasoning', 'reasoning_content'),
    signature: fc.option(state),
    content: fc.option(text),
    refusal: fc.option(text),
    calls: fc.oneof(fc.constant([]), fc.array(chatCall, { maxLength: 3 })),
    custom: fc.option(text),
    images: fc.boolean(),
    audio: fc.boolean(),
    sources: fc.array(fc.record({ url, title: text }), { maxLength: 2 }),
    logprobs: fc.array(logprob, { maxLength: 3 }),
    finish: fc.constantFrom('stop', 'length', 'tool_calls', 'content_filter', 'function_call', 'tomorrow'),
    extra: unknown,
    interleave: fc.boolean(),
    isCut: sometimes,
  })
  .map(({ signature, reasoning, ...rest }) => ({ ...rest, reasoning, signature: reasoning && signature }))
  .map((drawn) => (drawn.isCut ? { ...drawn, images: false, audio: false, finish: 'length' } : drawn));

const chatUsage = fc.record({ prompt: count, cached: count, output: count, reasoning: count }).map((drawn) => ({
  prompt_tokens: drawn.prompt + drawn.cached + 1,
  completion_tokens: drawn.output + drawn.reasoning + 1,
  total_tokens: drawn.prompt + drawn.cached + drawn.output + drawn.reasoning + 2,
  prompt_tokens_details: { cached_tokens: drawn.cached },
  completion_tokens_details: { reasoning_tokens: drawn.reasoning },
}));

export const chat = fc
  .record({ choices: fc.array(chatChoice, { minLength: 1, maxLength: 3 }), usage: chatUsage, lengths })
  .map(({ choices, usage, lengths }): UpstreamAnswer => {
    const head = { id: 'chatcmpl-1', created: 7, model: 'm' };
    const made = choices.map((choice, index) => chatForms(choice, index, cutterOf(lengths)));
    const chunks = interleaved(made.map(({ chunks }) => chunks));
    const object = 'chat.completion.chunk';
    return {
      whole: { ...head, object: 'chat.completion', choices: made.map(({ choice }) => choice), usage },
      frames: [
        ...chunks.map((choice) => ({ data: { ...head, object, choices: [choice] } })),
        { data: { ...head, object, choices: [], usage } },
        { data: '[DONE]' },
      ],
      isCut: choices[0]?.isCut ?? false,
    };
  });

function chatForms(drawn: Json, index: number, cut: Cut): { choice: Json; chunks: Json[] } {
  const { reasoning, spelling, signature, content, refusal, images, audio, sources, logprobs, finish, extra } = drawn;
  const custom = drawn.custom === null ? [] : [{ type: 'custom', custom: { name: 'free', input: drawn.custom } }];
  const bare = drawn.isCut ? [{ type: 'function', function: { name: CUT_CALL, arguments: '' } }] : [];
  const calls = unique([...drawn.calls, ...custom, ...bare]);
  const annotations = sources.map((source: Json) => ({
    type: 'url_citation',
    url_citation: { ...source, start_index: 0, end_index: content?.length ?? 0 },
  }));
  const details = signature
    ? [{ type: 'reasoning.text', text: reasoning, signature, format: 'anthropic-claude-v1', index: 0 }]
    : undefined;
  const tokens = content ? logprobs : [];
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${PICTURE}` } };
  const sound = { id: 'audio_1', data: SOUND, transcript: 'spoken' };
  const message = {
    ...{ role: 'assistant', content, refusal, ...extra },
    ...(reasoning && { [spelling]: reasoning }),
    ...(details && { reasoning_details: details }),
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(images && { images: [image] }),
    ...(audio && { audio: sound }),
    ...(annotations.length > 0 && { annotations }),
  };
  const callDeltas = calls.map((call, at) => {
    const kind = call.type as string;
    const member = kind === 'custom' ? 'input' : 'arguments';
    const pieces = cut(call[kind][member]);
    const first = { index: at, ...call, [kind]: { ...call[kind], [member]: '' } };
    return [first, ...pieces.map((piece) => ({ index: at, [kind]: { [member]: piece } }))];
  });
  const deltas = [
    { role: 'assistant', content: '' },
    ...cut(reasoning ?? '').map((piece) => ({
      [spelling]: piece,
      ...(details && { reasoning_details: [{ type: 'reasoning.text', text: piece, index: 0 }] }),
    })),
    ...(details ? [{ reasoning_details: [{ ...details[0], text: undefined }] }] : []),
    ...cut(content ?? '').map((piece) => ({ content: piece, ...extra })),
    ...cut(refusal ?? '').map((piece) => ({ refusal: piece })),
    ...(drawn.interleave ? interleaved(callDeltas) : callDeltas.flat()).map((call) => ({ tool_calls: [call] })),
    ...(images ? [{ images: [image] }] : []),
    ...(annotations.length > 0 ? [{ annotations }] : []),
    ...(audio ? [{ audio: { id: sound.id, transcript: 'spo' } }, { audio: { transcript: 'ken', data: SOUND } }] : []),
  ];
  const firstText = deltas.findIndex((delta) => delta.content);
  const chunks = [
    ...deltas.map((delta, at) => ({
      ...{ index, delta, finish_reason: null },
      ...(at === firstText && tokens.length > 0 && { logprobs: { content: tokens } }),
    })),
    { index, delta: {}, finish_reason: finish },
  ];
  return { choice: { index, message, finish_reason: finish, logprobs: { content: tokens } }, chunks };
}

function unique(calls: Json[], member = 'id'): Json[] {
  return calls.map((call, index) => ({ ...call, [member]: `call_${index}` }));
}
