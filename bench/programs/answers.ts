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
