/** A client that gives up a stream: the provider's connection ends with it (checklist 84). */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { streamText } from 'ai';
import { KEY, startTestGateway, startUpstream, type TestGateway, type TestUpstream } from '../gateway/harness.ts';
import { aiSdks } from './ai-sdk.ts';
import { anthropicClients } from './anthropic.ts';
import { genaiClients } from './genai.ts';
import { rejection } from './judge.ts';
import { langChains } from './langchain.ts';
import { openaiClients } from './openai.ts';

const FRAME = {
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta: { role: 'assistant', content: 'Hello' }, finish_reason: null }],
};

let provider: TestUpstream;
let gateway: TestGateway;

before(async () => {
  provider = await startUpstream((_call, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: ${JSON.stringify(FRAME)}\n\n`);
  });
  gateway = await startTestGateway(
    `providers: { p: { type: openai-compatible, base_url: "${provider.url}/v1", api_key: k, models: [{ id: m }] } }`,
  );
});

after(async () => {
  await gateway.close();
  await provider.close();
});

const connection = () => ({ url: gateway.url, key: KEY });
const messages = [{ role: 'user' as const, content: 'Hi' }];

/** Leaves the stream after its first item. */
async function leave(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream) break;
}

const LEAVERS: Record<string, () => Promise<void>> = {};
for (const [name, connect] of Object.entries(openaiClients(connection))) {
  LEAVERS[name] = async () => leave(await connect().chat.completions.create({ model: 'p/m', messages, stream: true }));
}
for (const [name, connect] of Object.entries(anthropicClients(connection))) {
  LEAVERS[name] = async () =>
    leave(await connect().messages.create({ model: 'p/m', max_tokens: 10, messages, stream: true }));
}
for (const [name, connect] of Object.entries(genaiClients(connection))) {
  LEAVERS[name] = async () => {
    const controller = new AbortController();
    const config = { abortSignal: controller.signal };
    await leave(await connect().models.generateContentStream({ model: 'p/m', contents: 'Hi', config }));
    controller.abort();
  };
}
for (const [name, connect] of Object.entries(aiSdks(connection))) {
  LEAVERS[name] = async () => {
    const controller = new AbortController();
    const params = { model: connect().model('p/m'), prompt: 'Hi', abortSignal: controller.signal };
    for await (const part of streamText(params).stream) if (part.type === 'text-delta') controller.abort();
  };
}
for (const [name, connect] of Object.entries(langChains(connection))) {
  // The SDK below this class rejects a promise that nobody awaits; see langchain-streams.ts.
  if (name === 'ChatGoogleGenerativeAI') continue;
  LEAVERS[name] = async () => {
    const controller = new AbortController();
    const read = async () => {
      for await (const _ of await connect().model('p/m').stream('Hi', { signal: controller.signal }))
        controller.abort();
    };
    await rejection(read(), Error);
  };
}

for (const [name, run] of Object.entries(LEAVERS)) {
  test(`${name} leaves a stream, and the provider is left within a second`, { timeout: 10_000 }, async () => {
    await run();
    const left = performance.now();
    assert.equal(await provider.calls.at(-1)?.closed, 'aborted');
    assert(performance.now() - left < 1000);
  });
}
