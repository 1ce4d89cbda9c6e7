/** Answers that arrive at the same time, all in the memory of the same reads: each client gets its own, in every form of an answer. */

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parseEvents, type SseEvent } from '../../src/core/sse.ts';
import { ask, startTestGateway, startUpstream, type TestGateway, type TestUpstream } from './harness.ts';

const ROUNDS = 6;
const FORMS = ['relayed', 'translated', 'whole', 'refused'] as const;
type Form = (typeof FORMS)[number];

/** Texts of one answer: small ones of ASCII, others, and one larger than what is handled as text. */
const textsOf = (tag: string) => [
  ...Array.from({ length: 12 }, (_, index) => `${tag} word${index} `),
  `${tag} Grüße 中文 🦊 `,
  `${tag} é `.repeat(800),
  `${tag} last`,
];

const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

function answerTo(tag: string): { status: number; type: string; text: string } {
  const texts = textsOf(tag);
  const [form] = tag.split('-') as [Form];
  const content = texts.join('');
  if (form === 'refused')
    return { status: 400, type: 'application/json', text: JSON.stringify({ error: { message: content } }) };
  if (form === 'whole') {
    const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }];
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    return { status: 200, type: 'application/json', text: JSON.stringify({ id: 'c', model: 'm', choices, usage }) };
  }
  const frames = texts.map((text) => chunk({ content: text }));
  return {
    ...{ status: 200, type: 'text/event-stream' },
    text: [chunk({ role: 'assistant', content: '' }), ...frames, chunk({}, 'stop'), 'data: [DONE]\n\n'].join(''),
  };
}

/** In pieces of odd sizes, which arrive between those of others. */
async function writePieces(response: ServerResponse, text: string): Promise<void> {
  const bytes = Buffer.from(text);
  for (let at = 0, size = 37; at < bytes.length; at += size, size = 37 + ((size * 7) % 1900)) {
    response.write(bytes.subarray(at, at + size));
    await nextTurn();
  }
  response.end();
}

let upstream: TestUpstream;
let gateway: TestGateway;

before(async () => {
  upstream = await startUpstream(async ({ body }, response) => {
    const { status, type, text } = answerTo(body.messages.at(-1).content);
    response.writeHead(status, { 'content-type': type });
    await writePieces(response, text);
  });
  gateway = await startTestGateway(
    `providers: { a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m }] } }`,
  );
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

const READ: Record<Form, (text: string) => string> = {
  relayed: (text) => deltasOf(text, (event) => JSON.parse(event.data).choices?.[0]?.delta?.content),
  translated: (text) => deltasOf(text, (event) => JSON.parse(event.data).delta?.text),
  whole: (text) => JSON.parse(text).choices[0].message.content,
  refused: (text) => JSON.parse(text).error.message,
};

function deltasOf(text: string, deltaIn: (event: SseEvent) => string | undefined): string {
  const events = parseEvents(Buffer.from(text)).filter(({ data }) => data !== '[DONE]');
  return events.map((event) => deltaIn(event) ?? '').join('');
}

test('each client gets its own answer', async () => {
  const tags = Array.from({ length: ROUNDS }, (_, round) => FORMS.map((form) => `${form}-${round}`)).flat();
  const answers = await Promise.all(
    tags.map(async (tag) => {
      const [form] = tag.split('-') as [Form];
      const protocol = form === 'translated' ? 'messages' : 'chat';
      const stream = form === 'relayed' || form === 'translated';
      const response = await ask(gateway, { protocol, model: 'a/m', text: tag, stream });
      return READ[form](await response.text());
    }),
  );
  for (const [index, tag] of tags.entries()) {
    const expected = textsOf(tag).join('');
    const answer = answers[index] ?? '';
    // Messages of errors are cut to a length.
    assert.equal(answer, tag.startsWith('refused') ? expected.slice(0, answer.length) : expected, tag);
    assert.ok(answer.length > 100, tag);
  }
});
