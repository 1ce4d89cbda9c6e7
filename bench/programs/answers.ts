/** Answers of the benchmark's upstreams: about 1.2 kB whole, and the frames of a stream. */

export const FRAMES_PER_STREAM = 100;

const words = 'The answer has some words of usual length. '.repeat(20);

export const CHAT_ANSWER = JSON.stringify({
  id: 'chatcmpl-0123456789',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: words }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 400, completion_tokens: 180, total_tokens: 580 },
});

export const MESSAGES_ANSWER = JSON.stringify({
  id: 'msg_0123456789',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: words }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 400, output_tokens: 180 },
});

const chunk = (delta: object, finish: string | null) =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

/** Each is written by itself; the last one is the end of the stream. */
export const CHAT_FRAMES: readonly string[] = [
  chunk({ role: 'assistant', content: '' }, null),
  ...Array.from({ length: FRAMES_PER_STREAM - 3 }, (_, index) => chunk({ content: ` word${index}` }, null)),
  chunk({}, 'stop'),
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage: { prompt_tokens: 10, completion_tokens: 100, total_tokens: 110 } })}\n\ndata: [DONE]\n\n`,
];

const RESPONSE = {
  ...{ id: 'resp_0123456789', object: 'response', created_at: 1, status: 'in_progress', completed_at: null },
  ...{ error: null, incomplete_details: null, instructions: words, model: 'm', output: [] as object[], usage: null },
  ...{ parallel_tool_calls: true, previous_response_id: null, store: false, tool_choice: 'auto', tools: [] },
};
const MESSAGE = { id: 'msg_0123456789', type: 'message', role: 'assistant', status: 'completed' };
const PLACE = { item_id: MESSAGE.id, output_index: 0, content_index: 0 };
const PIECES = Array.from({ length: FRAMES_PER_STREAM - 8 }, (_, index) => ` word${index}`);
const PART = { type: 'output_text', annotations: [], logprobs: [], text: PIECES.join('') };
const ITEM = { ...MESSAGE, content: [PART] };
const COUNTS = {
  ...{ input_tokens: 10, input_tokens_details: { cached_tokens: 0 } },
  ...{ output_tokens: 100, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 110 },
};

/** As many as those of chat completions; the first two and the last one hold the whole response object. */
export const RESPONSES_FRAMES: readonly string[] = [
  { type: 'response.created', response: RESPONSE },
  { type: 'response.in_progress', response: RESPONSE },
  { type: 'response.output_item.added', output_index: 0, item: { ...MESSAGE, status: 'in_progress', content: [] } },
  { type: 'response.content_part.added', ...PLACE, part: { ...PART, text: '' } },
  ...PIECES.map((delta) => ({
    type: 'response.output_text.delta',
    ...PLACE,
    delta,
    logprobs: [],
    obfuscation: 'x1Yz',
  })),
  { type: 'response.output_text.done', ...PLACE, text: PART.text, logprobs: [] },
  { type: 'response.content_part.done', ...PLACE, part: PART },
  { type: 'response.output_item.done', output_index: 0, item: ITEM },
  { type: 'response.completed', response: { ...RESPONSE, status: 'completed', output: [ITEM], usage: COUNTS } },
].map((event, sequence_number) => `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number })}\n\n`);
