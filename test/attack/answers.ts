/** Whole answers of upstreams in each of three protocols. */

/** `tokens`: of the input, and of the output. */
export function answersOf(model: string, tokens: number) {
  return {
    chat: {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model,
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: tokens, completion_tokens: tokens, total_tokens: 2 * tokens },
    },
    messages: {
      id: 'm',
      type: 'message',
      role: 'assistant',
      model,
      content: [{ type: 'text', text: 'Hi' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: tokens, output_tokens: tokens },
    },
    generate: {
      candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 'STOP', index: 0 }],
      usageMetadata: { promptTokenCount: tokens, candidatesTokenCount: tokens, totalTokenCount: 2 * tokens },
    },
  };
}
