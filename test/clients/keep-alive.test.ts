/** Every client in front of a slow model: what the gateway fills silence with is no part of the answer. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { streamText } from 'ai';
import { KEY, startTestGateway, type TestGateway } from '../gateway/harness.ts';
import { aiSdks } from './ai-sdk.ts';
import { anthropicClients } from './anthropic.ts';
import { genaiClients } from './genai.ts';
import { collect } from './judge.ts';
import { answerOf, langChains } from './langchain.ts';
import { openaiClients } from './openai.ts';

let gateway: TestGateway;
before(async () => {
  gateway = await startTestGateway('server: { keep_alive: 10ms }');
});
after(() => gateway.close());

const connection = () => ({ url: gateway.url, key: KEY });
const model = 'sandbox/faulty';
const prompt = 'pause 25ms';
const ANSWER = 'Nothing else goes wrong in this answer of the sandbox.';
const messages = [{ role: 'user' as const, content: prompt }];

/** Each reads a stream with two signs of life before every token. */
const READERS: Record<string, () => Promise<string>> = {};
for (const [name, connect] of Object.entries(openaiClients(connection)))
  READERS[name] = async () =>
    collect(
      await connect().chat.completions.create({ model, messages, stream: true }),
      ({ choices }) => choices[0]?.delta.content,
    );
for (const [name, connect] of Object.entries(anthropicClients(connection)))
  READERS[name] = () => connect().messages.stream({ model, max_tokens: 1000, messages }).finalText();
for (const [name, connect] of Object.entries(genaiClients(connection)))
  READERS[name] = async () =>
    collect(await connect().models.generateContentStream({ model, contents: prompt }), ({ text }) => text);
for (const [name, connect] of Object.entries(aiSdks(connection)))
  READERS[name] = async () => streamText({ model: connect().model(model), prompt }).text;
for (const [name, connect] of Object.entries(langChains(connection)))
  READERS[name] = async () => (await answerOf(connect().model(model), prompt, true)).text;

describe('silence is filled, and nobody minds', { concurrency: true }, () => {
  for (const [name, read] of Object.entries(READERS))
    test(`${name} (checklist 30, 45, 46)`, async () => assert.equal(await read(), ANSWER));
});
