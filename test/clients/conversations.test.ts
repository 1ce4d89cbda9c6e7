/** Conversations of the official SDK, and the session of the agents' SDK, over providers of every protocol. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Agent, OpenAIConversationsSession, OpenAIResponsesModel, run, setTracingDisabled } from '@openai/agents';
import OpenAI from 'openai';
import { KEY, startTestGateway, type TestGateway } from '../gateway/harness.ts';
import { type ResponsesUpstream, startResponsesUpstream } from '../gateway/responses-upstream.ts';
import { judge } from './judge.ts';
import { openaiClients, openaiOf } from './openai.ts';
import { type ProvidedGateway, startProvidedGateway } from './provided-gateway.ts';
import { TEXT } from './upstreams.ts';

let provided: ProvidedGateway;
let gateway: TestGateway;
let plain: ResponsesUpstream;
let keeping: ResponsesUpstream;

before(async () => {
  setTracingDisabled(true);
  provided = await startProvidedGateway([{ text: TEXT }, { text: TEXT }, { text: TEXT }]);
  plain = await startResponsesUpstream({ keeps: false, prefix: 'p' });
  keeping = await startResponsesUpstream({ keeps: true, prefix: 'k' });
  gateway = await startTestGateway(`
providers:
  plain: { type: open-responses, base_url: "${plain.url}/v1", models: [{ id: m }] }
  keeping: { type: openai, base_url: "${keeping.url}/v1", api_key: k, models: [{ id: m }] }
`);
});
after(async () => {
  await gateway.close();
  await provided.close();
  await plain.close();
  await keeping.close();
});

const MODELS = [
  ...(['chat', 'messages', 'generate'] as const).map((name) => ({ name: `${name}/m`, url: () => provided.url })),
  ...(['plain', 'keeping'] as const).map((name) => ({ name: `${name}/m`, url: () => gateway.url })),
];

for (const { name, url } of MODELS) {
  describe(name, () => {
    judge(
      openaiClients(() => ({ url: url(), key: KEY })),
      {
        'a conversation from its creation to its deletion (checklist 114)': async (client) => {
          const { NotFoundError } = openaiOf(client);
          const gone = (error: unknown) => error instanceof NotFoundError;
          const items = [{ role: 'developer' as const, content: 'Be brief.' }];
          const { id } = await client.conversations.create({ items, metadata: { topic: 'test' } });
          const first = await client.responses.create({ model: name, input: 'One', conversation: id });
          assert.equal(first.conversation?.id, id);
          const stream = client.responses.stream({ model: name, input: 'Two', conversation: { id } });
          const second = await stream.finalResponse();
          assert.equal(second.conversation?.id, id);
          const added = await client.conversations.items.create(id, { items: [{ role: 'user', content: 'Three' }] });
          assert.equal(added.data.length, 1);

          const listed: string[] = [];
          for await (const item of client.conversations.items.list(id, { limit: 2, order: 'asc' }))
            if (item.type === 'message') listed.push(item.role);
          assert.deepEqual(listed, ['developer', 'user', 'assistant', 'user', 'assistant', 'user']);
          const { data } = await client.conversations.items.list(id);
          const [newest] = data;
          assert.ok(newest?.id);
          const named = { conversation_id: id };
          assert.deepEqual(await client.conversations.items.retrieve(newest.id, named), newest);
          assert.equal((await client.conversations.items.delete(newest.id, named)).id, id);
          await assert.rejects(client.conversations.items.retrieve(newest.id, named), gone);

          const changed = await client.conversations.update(id, { metadata: { topic: 'other' } });
          assert.deepEqual(changed.metadata, { topic: 'other' });
          assert.deepEqual(await client.conversations.retrieve(id), changed);
          assert.equal((await client.conversations.delete(id)).deleted, true);
          await assert.rejects(client.conversations.retrieve(id), gone);
          await assert.rejects(client.responses.create({ model: name, input: 'x', conversation: id }), gone);
        },
      },
    );

    test('the session of the agents keeps a conversation', async () => {
      const client = new OpenAI({ apiKey: KEY, baseURL: `${url()}/v1`, maxRetries: 0 });
      const agent = new Agent({ name: 'Speaker', model: new OpenAIResponsesModel(client, name) });
      const session = new OpenAIConversationsSession({ client });
      for (const question of ['One?', 'Two?']) assert.ok((await run(agent, question, { session })).finalOutput);
      const kept = await session.getItems();
      const roles = kept.map((item) => ('role' in item ? item.role : item.type));
      assert.deepEqual(roles, ['user', 'assistant', 'user', 'assistant']);
      await session.clearSession();
    });
  });
}
