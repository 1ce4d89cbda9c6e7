/** State that a provider showed in its own words never goes to another provider of the same protocol. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import {
  answerEvents,
  answerJson,
  HEADERS,
  PATHS,
  type ProtocolId,
  post,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';

const SIGNATURE = 'c2lnbmF0dXJlIG9mIG9uZQ==';
const DETAILS = [
  { type: 'reasoning.text', text: 'Hm.', signature: SIGNATURE, index: 0, format: 'anthropic-claude-v1' },
];

/** What each protocol's upstream answers, and the assistant's turn that a client makes of it. */
const TURNS: Record<ProtocolId, { answer: Json; frames: Json[]; turn: Json }> = {
  chat: {
    answer: {
      id: 'c',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Yes.', reasoning_details: DETAILS },
          finish_reason: 'stop',
        },
      ],
    },
    frames: [
      {
        id: 'c',
        choices: [
          { index: 0, delta: { role: 'assistant', content: 'Yes.', reasoning_details: DETAILS }, finish_reason: null },
        ],
      },
      { id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    ],
    turn: { role: 'assistant', content: 'Yes.', reasoning_details: DETAILS },
  },
  messages: {
    answer: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: SIGNATURE },
        { type: 'text', text: 'Yes.' },
      ],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    },
    frames: [
      {
        type: 'message_start',
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          content: [],
          usage: { input_tokens: 1, output_tokens: 1 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: SIGNATURE } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
      { type: 'message_stop' },
    ],
    turn: {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: SIGNATURE },
        { type: 'text', text: 'Yes.' },
      ],
    },
  },
  generate: {
    answer: {
      candidates: [
        { content: { role: 'model', parts: [{ text: 'Yes.', thoughtSignature: SIGNATURE }] }, finishReason: 'STOP' },
      ],
    },
    frames: [
      {
        candidates: [
          { content: { role: 'model', parts: [{ text: 'Yes.', thoughtSignature: SIGNATURE }] }, finishReason: 'STOP' },
        ],
      },
    ],
    turn: { role: 'model', parts: [{ text: 'Yes.', thoughtSignature: SIGNATURE }] },
  },
};

const TYPES: Record<ProtocolId, string> = { chat: 'openrouter', messages: 'anthropic', generate: 'google' };

for (const protocol of ['chat', 'messages', 'generate'] as const) {
  const { answer, frames, turn } = TURNS[protocol];
  for (const stream of [false, true]) {
    describe(`${protocol}, ${stream ? 'streamed' : 'whole'}`, () => {
      let upstream: TestUpstream;
      let gateway: TestGateway;

      before(async () => {
        upstream = await startUpstream((call, response) => {
          const streamed = call.body.stream || call.path.includes('stream');
          if (!streamed) return answerJson(response, answer);
          answerEvents(
            response,
            frames
              .map((data) => `${data.type ? `event: ${data.type}\n` : ''}data: ${JSON.stringify(data)}\n\n`)
              .join(''),
          );
        });
        const provider = `{ type: ${TYPES[protocol]}, base_url: "${upstream.url}${protocol === 'chat' ? '/v1' : ''}", api_key: k, models: [{ id: m }] }`;
        gateway = await startTestGateway(`providers: { one: ${provider}, two: ${provider} }`);
      });

      after(async () => {
        await gateway.close();
        await upstream.close();
      });

      async function ask(model: string, turns: Json[]): Promise<Json> {
        const body = protocol === 'generate' ? { contents: turns } : { model, max_tokens: 9, messages: turns, stream };
        await (await post(gateway.url + PATHS[protocol](model, stream), body, HEADERS[protocol])).text();
        return JSON.stringify(upstream.calls.at(-1)?.body);
      }

      const said = (text: string): Json =>
        protocol === 'generate' ? { role: 'user', parts: [{ text }] } : { role: 'user', content: text };

      test('it goes back to its owner and to nobody else', async () => {
        await ask('one/m', [said('Well?')]);
        const history = [said('Well?'), turn, said('And?')];
        assert.ok((await ask('one/m', history)).includes(SIGNATURE), 'its owner gets it back');
        const other = await ask('two/m', history);
        assert.ok(!other.includes(SIGNATURE), 'another one does not');
        assert.ok(!other.includes('polygate'), 'nor its seal');
        assert.ok(other.includes('Yes.'), 'but what was said');
      });
    });
  }
}
