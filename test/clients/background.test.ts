/** Background responses of the official SDK, over providers of every protocol. */

import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type OpenAI from 'openai';
import { KEY, startTestGateway, type TestGateway } from '../gateway/harness.ts';
import { type ResponsesUpstream, startResponsesUpstream } from '../gateway/responses-upstream.ts';
import { judge } from './judge.ts';
import { openaiClients, openaiOf } from './openai.ts';
import { PROTOCOLS, type ProvidedGateway, startProvidedGateway } from './provided-gateway.ts';
import { TEXT } from './upstreams.ts';

let provided: ProvidedGateway;
let keeping: ResponsesUpstream;
let gateway: TestGateway;

before(async () => {
  provided = await startProvidedGateway([{ text: TEXT }]);
  keeping = await startResponsesUpstream({ keeps: true, prefix: 'k' });
  gateway = await startTestGateway(`
providers:
  keeping: { type: openai, base_url: "${keeping.url}/v1", api_key: k, models: [{ id: m }] }
`);
});
after(async () => {
  await gateway.close();
  await keeping.close();
  await provided.close();
});

const MODELS = [
  ...PROTOCOLS.map((protocol) => ({ name: `${protocol}/m`, url: () => provided.url })),
  { name: 'keeping/m', url: () => gateway.url },
];

async function ended(client: OpenAI, id: string): Promise<OpenAI.Responses.Response> {
  for (;;) {
    const response = await client.responses.retrieve(id);
    if (response.status !== 'queued' && response.status !== 'in_progress') return response;
    await pause(25);
  }
}

for (const { name, url } of MODELS) {
  describe(`${name} (checklist 112)`, () => {
    judge(
      openaiClients(() => ({ url: url(), key: KEY })),
      {
        'create in the background, and retrieve until it has ended': async (client) => {
          const queued = await client.responses.create({ model: name, input: 'Hi', background: true, store: true });
          assert.deepEqual([queued.status, queued.background, queued.output_text], ['queued', true, '']);
          const response = await ended(client, queued.id);
          assert.deepEqual([response.id, response.status], [queued.id, 'completed']);
          assert.ok(response.output_text.length > 0);
          assert.ok((response.usage?.output_tokens ?? 0) > 0);
          await assert.rejects(
            client.responses.cancel(queued.id),
            (error) => error instanceof openaiOf(client).BadRequestError,
          );
          const stream = await client.responses.create({ model: name, input: 'Hi', background: true, stream: true });
          const events: OpenAI.Responses.ResponseStreamEvent[] = [];
          for await (const event of stream) events.push(event);
          const [first] = events;
          assert.ok(first?.type === 'response.created');
          const last = events.at(-1);
          assert.ok(last?.type === 'response.completed' && last.response.output.length > 0);
          const resumed: OpenAI.Responses.ResponseStreamEvent[] = [];
          const again = { stream: true, starting_after: 3 } as const;
          for await (const event of await client.responses.retrieve(first.response.id, again)) resumed.push(event);
          assert.deepEqual(resumed, events.slice(4));
          const followed = await client.responses.stream({ response_id: first.response.id }).finalResponse();
          assert.equal(followed.output_text, last.response.output_text || followed.output_text);
          assert.ok(followed.output_text.length > 0);
          await client.responses.delete(queued.id);
          await assert.rejects(
            client.responses.retrieve(queued.id),
            (error) => error instanceof openaiOf(client).NotFoundError,
          );
        },
      },
    );
  });
}

/** Models whose providers answer every path as if it were that of responses have no compaction to judge. */
const SUMMARIZING = MODELS.filter(({ name }) => ['chat/m', 'messages/m', 'generate/m'].includes(name));

describe('compact', () => {
  for (const { name, url } of SUMMARIZING) {
    judge(
      openaiClients(() => ({ url: url(), key: KEY })),
      {
        [`a compacted conversation goes on (${name})`]: async (client) => {
          const input = [{ role: 'user' as const, content: 'Build a bridge.' }];
          const compacted = await client.responses.compact({ model: name, input });
          assert.equal(compacted.object, 'response.compaction');
          const [kept, compaction] = compacted.output;
          assert.deepEqual([kept?.type ?? 'message', compaction?.type], ['message', 'compaction']);
          const again = [...compacted.output, { role: 'user', content: 'Go on.' }] as OpenAI.Responses.ResponseInput;
          const next = await client.responses.create({ model: name, input: again });
          assert.ok(next.output_text.length > 0);
        },
      },
    );
  }
});

describe('cancel', () => {
  judge(
    openaiClients(() => ({ url: gateway.url, key: KEY })),
    {
      'of a response that is being made, twice': async (client) => {
        const held = Promise.withResolvers<void>();
        keeping.beforeEnd = () => held.promise;
        const { id } = await client.responses.create({ model: 'keeping/m', input: 'Hi', background: true });
        const cancelled = await client.responses.cancel(id);
        assert.deepEqual([cancelled.status, cancelled.id], ['cancelled', id]);
        assert.deepEqual(await client.responses.cancel(id), cancelled);
        assert.equal((await client.responses.retrieve(id)).status, 'cancelled');
        held.resolve();
        keeping.beforeEnd = undefined;
      },
      'of a response of nobody': async (client) => {
        const gone = (error: unknown) => error instanceof openaiOf(client).NotFoundError;
        await assert.rejects(client.responses.cancel('resp_none'), gone);
      },
    },
  );
});
