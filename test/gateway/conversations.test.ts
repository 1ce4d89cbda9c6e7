/** Conversations of a key: their items, and the responses that read and append them, on both engines. */

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { parseEvents } from '../../src/core/sse.ts';
import { startProvider } from '../clients/upstreams.ts';
import { providePostgres, type TestDatabase } from '../store/postgres-server.ts';
import { forEachStore } from '../store/stores.ts';
import { type BackgroundClient, createBackgroundClient } from './background-client.ts';
import { createPermits, HEADERS, post, startTestGateway, type TestGateway, type TestUpstream } from './harness.ts';
import { lastText, messageOf, type ResponsesUpstream, startResponsesUpstream } from './responses-upstream.ts';
import { connect } from './websocket-client.ts';

const OTHER = 'sk-another-key-0123456789abcdef';
const STORELESS = 'sk-stores-nothing-0123456789ab';
const OTHERS = ['chat', 'messages', 'generate'] as const;
const withKey = (key: string) => ({ authorization: `Bearer ${key}` });
const user = (content: string): Json => ({ role: 'user', content });

interface Answered {
  status: number;
  headers: Headers;
  body: Json;
}

forEachStore((engine) =>
  describe(engine, () => {
    let plain: ResponsesUpstream;
    let keeping: ResponsesUpstream;
    let providers: TestUpstream[];
    let gateway: TestGateway;
    let second: TestGateway;
    let database: TestDatabase | undefined;
    let background: BackgroundClient;

    before(async () => {
      plain = await startResponsesUpstream({ keeps: false, prefix: 'p' });
      keeping = await startResponsesUpstream({ keeps: true, prefix: 'k' });
      providers = await Promise.all(OTHERS.map((protocol) => startProvider(protocol, [{ text: 'Sunny.' }])));
      const [chat, messages, generate] = providers;
      database = engine === 'postgres' ? await providePostgres() : undefined;
      const yaml = `
encryption: { key: "${Buffer.alloc(32, 7).toString('base64')}" }
providers:
  plain: { type: open-responses, base_url: "${plain.url}/v1", models: [{ id: m }] }
  keeping: { type: openai, base_url: "${keeping.url}/v1", api_keys: [key-one, key-two], models: [{ id: m }] }
  chat: { type: openai-compatible, base_url: "${chat?.url}/v1", api_key: k, models: [{ id: m }] }
  messages: { type: anthropic, base_url: "${messages?.url}", api_key: k, models: [{ id: m }] }
  generate: { type: google, base_url: "${generate?.url}", api_key: k, models: [{ id: m }] }
`;
      const options = {
        keys: [`{ name: other, key: ${OTHER} }`, `{ name: storeless, key: ${STORELESS}, store_responses: false }`],
        ...(database && { postgres: database.url }),
      };
      gateway = await startTestGateway(yaml, options);
      // SQLite belongs to one gateway.
      second = database ? await startTestGateway(yaml, options) : gateway;
      background = createBackgroundClient(() => gateway.url);
    });
    after(async () => {
      if (second !== gateway) await second.close();
      await gateway.close();
      for (const upstream of [plain, keeping, ...providers]) await upstream.close();
      await database?.close();
    });
    beforeEach(() => {
      for (const upstream of [plain, keeping]) {
        upstream.calls.length = 0;
        Object.assign(upstream, { output: undefined, changes: {}, beforeEnd: undefined });
      }
    });

    async function answered(response: Response): Promise<Answered> {
      const text = await response.text();
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
      const body = isStream
        ? JSON.parse(parseEvents(Buffer.from(text)).at(-1)?.data ?? '{}').response
        : JSON.parse(text);
      return { status: response.status, headers: response.headers, body };
    }

    async function request(method: string, path = '', body?: Json, headers: Record<string, string> = {}) {
      return answered(
        await fetch(`${gateway.url}/v1/conversations${path}`, {
          method,
          headers: { ...HEADERS.chat, ...headers, ...(body && { 'content-type': 'application/json' }) },
          ...(body && { body: JSON.stringify(body) }),
        }),
      );
    }

    async function create(body: Json, headers: Record<string, string> = {}, at = gateway): Promise<Answered> {
      const asked = { model: 'plain/m', ...body };
      return answered(await post(`${at.url}/v1/responses`, asked, { ...HEADERS.chat, ...headers }));
    }

    async function newConversation(items: Json[] = [], headers: Record<string, string> = {}): Promise<string> {
      const { status, body } = await request('POST', '', { items }, headers);
      assert.equal(status, 200, JSON.stringify(body));
      return body.id;
    }

    const textOf = ({ type, content, output, name, id }: Json): string =>
      typeof content === 'string' ? content : (content?.[0]?.text ?? output ?? name ?? `${type} ${id}`);

    /** Texts of the items of a conversation, oldest first. */
    async function textsIn(id: string): Promise<string[]> {
      const { status, body } = await request('GET', `/${id}/items?order=asc&limit=100`);
      assert.equal(status, 200, JSON.stringify(body));
      return body.data.map(textOf);
    }

    function assertRefused({ status, body }: Answered, expected: number, code: string | null, param: string | null) {
      assert.deepEqual([status, body.error?.code, body.error?.param], [expected, code, param], JSON.stringify(body));
      assert.equal(body.error.type, 'invalid_request_error');
    }

    describe('resources', () => {
      test('created, read, changed and deleted', async () => {
        const created = await request('POST', '', { metadata: { topic: 'test' } });
        assert.equal(created.status, 200);
        assert.equal(created.headers.get('cache-control'), 'no-store');
        const { id, created_at } = created.body;
        assert.match(id, /^conv_[0-9a-f]{48}$/);
        assert.deepEqual(created.body, { id, object: 'conversation', created_at, metadata: { topic: 'test' } });
        assert.deepEqual((await request('GET', `/${id}`)).body, created.body);
        const changed = await request('POST', `/${id}`, { metadata: { topic: 'other' } });
        assert.deepEqual(changed.body, { id, object: 'conversation', created_at, metadata: { topic: 'other' } });
        assert.deepEqual((await request('POST', `/${id}`, { metadata: null })).body.metadata, {});
        const deleted = await request('DELETE', `/${id}`);
        assert.deepEqual(deleted.body, { id, object: 'conversation.deleted', deleted: true });
        for (const [method, path, body] of [
          ['GET', ''],
          ['DELETE', ''],
          ['POST', '', { metadata: {} }],
          ['GET', '/items'],
          ['POST', '/items', { items: [user('Hi')] }],
          ['GET', '/items/msg_1'],
          ['DELETE', '/items/msg_1'],
        ] as const)
          assertRefused(await request(method, `/${id}${path}`, body), 404, null, null);
        assertRefused(await create({ input: 'Hi', conversation: id }), 404, null, null);
      });

      test('without a body', async () => {
        const response = await fetch(`${gateway.url}/v1/conversations`, { method: 'POST', headers: HEADERS.chat });
        assert.equal(response.status, 200, await response.text());
      });

      test('items are added, listed in pages, read and deleted one by one', async () => {
        const id = await newConversation([user('0')]);
        const items = Array.from({ length: 7 }, (_, index) => user(String(index + 1)));
        const call = { type: 'function_call', id: 'fc_own', call_id: 'c', name: 'f', arguments: '{}' };
        const added = await request('POST', `/${id}/items`, { items: [...items, call] });
        assert.equal(added.status, 200, JSON.stringify(added.body));
        assert.deepEqual(added.body.data.map(textOf), ['1', '2', '3', '4', '5', '6', '7', 'f']);
        assert.equal(added.body.data[7].id, 'fc_own');
        assert.match(added.body.data[0].id, /^msg_[0-9a-f]{32}$/);
        assert.deepEqual(added.body.data[0].content, [{ type: 'input_text', text: '1' }]);
        assert.deepEqual([added.body.data[0].type, added.body.data[0].status], ['message', 'completed']);
        assert.deepEqual([added.body.first_id, added.body.has_more], [added.body.data[0].id, false]);

        const seen: string[] = [];
        for (let after = ''; ; ) {
          const { body } = await request('GET', `/${id}/items?limit=3${after}`);
          seen.push(...body.data.map(textOf));
          assert.deepEqual([body.first_id, body.last_id], [body.data[0].id, body.data.at(-1).id]);
          if (!body.has_more) break;
          assert.equal(body.data.length, 3);
          after = `&after=${body.last_id}`;
        }
        assert.deepEqual(seen, ['f', '7', '6', '5', '4', '3', '2', '1', '0']);
        const third = added.body.data[2];
        assert.deepEqual((await request('GET', `/${id}/items/${third.id}`)).body, third);
        const deleted = await request('DELETE', `/${id}/items/${third.id}`);
        assert.deepEqual([deleted.status, deleted.body.id, deleted.body.object], [200, id, 'conversation']);
        assertRefused(await request('GET', `/${id}/items/${third.id}`), 404, null, null);
        assertRefused(await request('DELETE', `/${id}/items/${third.id}`), 404, null, null);
        assertRefused(await request('GET', `/${id}/items?after=${third.id}`), 404, null, 'after');
        assert.deepEqual(await textsIn(id), ['0', '1', '2', '4', '5', '6', '7', 'f']);
        assert.deepEqual((await request('GET', `/${await newConversation()}/items`)).body, {
          ...{ object: 'list', data: [], first_id: null, last_id: null, has_more: false },
        });
      });

      test('what is refused names the field', async () => {
        const id = await newConversation([{ ...user('Hi'), id: 'msg_known' }]);
        const cases: [path: string, body: Json, param: string][] = [
          ['', { items: 'Hi' }, 'items'],
          ['', { items: Array(21).fill(user('Hi')) }, 'items'],
          ['', { items: [{ role: 'user', content: [{ type: 'output_noise' }] }] }, 'items[0].content[0].type'],
          ['', { items: [{ type: 'unheard_of' }] }, 'items[0].type'],
          ['', { items: [{ type: 'item_reference', id: 'msg_none' }] }, 'items[0].id'],
          [
            '',
            {
              items: [user('Hi')].concat([
                { ...user('a'), id: 'm' },
                { ...user('b'), id: 'm' },
              ]),
            },
            'items[2].id',
          ],
          ['', { metadata: { a: 7 } }, 'metadata.a'],
          ['', { metadata: { ['n'.repeat(65)]: 'x' } }, 'metadata'],
          ['', { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`n${n}`, 'x'])) }, 'metadata'],
          [`/${id}`, {}, 'metadata'],
          [`/${id}/items`, {}, 'items'],
          [`/${id}/items`, { items: [] }, 'items'],
          [`/${id}/items`, { items: [{ ...user('Hi'), id: 'msg_known' }] }, 'items'],
          [`/${id}/items`, { items: [{ type: 'item_reference', id: 'msg_known' }] }, 'items'],
        ];
        for (const [path, body, param] of cases) {
          const refused = await request('POST', path, body);
          assert.deepEqual([refused.status, refused.body.error.param], [400, param], JSON.stringify(refused.body));
        }
        assert.equal((await request('GET', `/${id}/items?order=up`)).body.error.param, 'order');
        assert.equal((await request('GET', `/${id}/items?limit=101`)).body.error.param, 'limit');
        assert.equal((await request('PUT', `/${id}`, {})).status, 405);
        assert.deepEqual(await textsIn(id), ['Hi']);
      });

      test('conversations of another key are unknown', async () => {
        const id = await newConversation([{ ...user('Secret'), id: 'msg_secret' }]);
        const headers = withKey(OTHER);
        for (const [method, path, body] of [
          ['GET', ''],
          ['DELETE', ''],
          ['POST', '', { metadata: {} }],
          ['GET', '/items'],
          ['POST', '/items', { items: [user('Hi')] }],
          ['GET', '/items/msg_secret'],
          ['DELETE', '/items/msg_secret'],
        ] as const) {
          const foreign = await request(method, `/${id}${path}`, body, headers);
          const unknown = await request(method, `/${id.replace(/.{8}$/, '00000000')}${path}`, body, headers);
          assert.equal(foreign.status, 404);
          const about = id.slice(-8);
          assert.equal(JSON.stringify(foreign.body).replaceAll(about, '00000000'), JSON.stringify(unknown.body));
        }
        for (const more of [{}, { stream: true }, { background: true }])
          assertRefused(await create({ input: 'Hi', conversation: id, ...more }, headers), 404, null, null);
        const reference = { input: [{ type: 'item_reference', id: 'msg_secret' }] };
        assertRefused(await create(reference, headers), 400, 'item_not_found', 'input[0].id');
        assert.equal(plain.calls.length, 0);
        const socket = await connect(gateway.url, { headers });
        const refused = await socket.ask({ model: 'plain/m', input: 'Hi', conversation: id });
        assert.deepEqual([refused.type, refused.status], ['error', 404]);
        await socket.close();
        assert.deepEqual(await textsIn(id), ['Secret']);
      });

      test('where nothing is stored there are none', async () => {
        const id = await newConversation([], withKey(OTHER));
        const refused = await request('POST', '', {}, withKey(STORELESS));
        assert.deepEqual([refused.status, refused.body.error.code], [400, 'unsupported_parameter']);
        const response = await create({ input: 'Hi', conversation: id }, withKey(STORELESS));
        assert.equal(response.status, 404);
      });
    });

    for (const stream of [false, true]) {
      describe(stream ? 'streamed' : 'whole', () => {
        for (const model of ['plain/m', 'keeping/m', ...OTHERS.map((protocol) => `${protocol}/m`)]) {
          test(`a response reads the conversation and is appended to it (${model}) (checklist 114)`, async () => {
            const id = await newConversation([{ role: 'developer', content: 'Be brief.' }]);
            const first = await create({ model, input: 'One', conversation: id, stream });
            assert.equal(first.status, 200, JSON.stringify(first.body));
            assert.deepEqual(first.body.conversation, { id });
            // The upstream says itself that it keeps nothing.
            assert.equal(first.body.store, model !== 'plain/m');
            const next = await create({ model, input: [user('Two')], conversation: { id }, stream });
            assert.equal(next.status, 200, JSON.stringify(next.body));
            const said = [textOf(first.body.output.at(-1)), textOf(next.body.output.at(-1))];
            assert.deepEqual(await textsIn(id), ['Be brief.', 'One', said[0], 'Two', said[1]]);
            const upstream = { 'plain/m': plain, 'keeping/m': keeping }[model];
            if (upstream) {
              const { body } = upstream.calls.at(-1) as Json;
              assert.deepEqual(body.input.map(textOf), ['Be brief.', 'One', said[0], 'Two']);
              assert.equal('conversation' in body, false);
            }
            const items = (await request('GET', `/${id}/items`)).body.data;
            assert.deepEqual(items[0].id, next.body.output.at(-1).id);
            const kept = await fetch(`${gateway.url}/v1/responses/${next.body.id}`, { headers: HEADERS.chat });
            const found: Json = await kept.json();
            assert.equal(kept.status, 200);
            if (model !== 'keeping/m') assert.deepEqual(found, next.body);
          });
        }

        test('models of several providers go on with one conversation', async () => {
          const id = await newConversation();
          for (const model of ['plain/m', 'chat/m', 'keeping/m', 'messages/m', 'plain/m']) {
            const { status, body } = await create({ model, input: `for ${model}`, conversation: id, stream });
            assert.equal(status, 200, JSON.stringify(body));
          }
          assert.equal((await textsIn(id)).length, 10);
          assert.equal(plain.calls.at(-1)?.body.input.length, 9);
        });

        test('an incomplete answer is appended, and a failed one is not', async () => {
          const id = await newConversation();
          plain.changes = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } };
          const cut = await create({ input: 'One', conversation: id, stream });
          assert.equal(cut.body.status, 'incomplete');
          assert.deepEqual(await textsIn(id), ['One', 'You said: One']);
          plain.changes = { status: 'failed', error: { code: 'server_error', message: 'No.' } };
          await create({ input: 'Two', conversation: id, stream });
          plain.changes = {};
          assert.equal((await create({ input: 'Three', conversation: id, stream })).status, 200);
          assert.deepEqual(await textsIn(id), ['One', 'You said: One', 'Three', 'You said: Three']);
        });

        test('with store: false only the conversation has the items', async () => {
          const id = await newConversation();
          for (const model of ['plain/m', 'keeping/m', 'chat/m']) {
            const { status, body } = await create({ model, input: model, conversation: id, store: false, stream });
            assert.deepEqual([status, body.store, body.conversation], [200, false, { id }], JSON.stringify(body));
            const kept = await fetch(`${gateway.url}/v1/responses/${body.id}`, { headers: HEADERS.chat });
            assert.equal(kept.status, 404);
          }
          assert.equal((await textsIn(id)).length, 6);
        });

        test('reasoning that its provider neither kept nor handed out goes to nobody', async () => {
          const id = await newConversation();
          keeping.output = (body, number) => [
            { type: 'reasoning', id: `rs_${number}`, summary: [] },
            messageOf(`msg_${number}`, `You said: ${lastText(body.input)}`),
          ];
          const asked = { model: 'keeping/m', conversation: id, stream };
          await create({ ...asked, input: 'One' });
          await create({ ...asked, input: 'Two', store: false });
          await create({ ...asked, input: 'Three' });
          const sent = keeping.calls.at(-1)?.body.input;
          assert.deepEqual(
            sent.map(({ type, role }: Json) => (type === 'reasoning' ? type : role)),
            ['user', 'reasoning', 'assistant', 'user', 'assistant', 'user'],
          );
          assert.equal(sent[1].encrypted_content, undefined);
          assert.deepEqual([typeof sent[2].id, typeof sent[4].id], ['string', 'undefined']);
        });

        test('ids that a server counts from 1 are unique in the conversation', async () => {
          const id = await newConversation();
          plain.output = (body) => [messageOf('msg_1', `You said: ${lastText(body.input)}`)];
          for (const input of ['One', 'Two']) await create({ input, conversation: id, stream });
          const { data } = (await request('GET', `/${id}/items`)).body;
          assert.deepEqual([data[2].id, /^msg_[0-9a-f]{32}$/.test(data[0].id)], ['msg_1', true]);
          assert.equal(new Set(data.map((item: Json) => item.id)).size, 4);
          const found = await request('GET', `/${id}/items/${data[0].id}`);
          assert.equal(textOf(found.body), 'You said: Two');
        });
      });
    }

    test('an answer that is stopped by its client is not appended, and the conversation goes on', async () => {
      const id = await newConversation();
      const permits = createPermits();
      plain.beforeEnd = () => permits.take();
      const leaving = new AbortController();
      const response = await fetch(`${gateway.url}/v1/responses`, {
        method: 'POST',
        headers: { ...HEADERS.chat, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'plain/m', input: 'Lost', conversation: id, stream: true }),
        signal: leaving.signal,
      });
      assert.equal(response.status, 200);
      leaving.abort();
      await plain.calls[0]?.closed;
      plain.beforeEnd = undefined;
      const next = await create({ input: 'Kept', conversation: id });
      assert.equal(next.status, 200, JSON.stringify(next.body));
      assert.deepEqual(await textsIn(id), ['Kept', 'You said: Kept']);
    });

    test('a second response waits for the first, and gives up after five seconds', { timeout: 120_000 }, async () => {
      const id = await newConversation();
      const permits = createPermits();
      plain.beforeEnd = () => permits.take();
      const first = create({ input: 'First', conversation: id });
      await background.when(() => plain.calls[0]);
      assertRefused(
        await create({ input: 'Impatient', conversation: id }, {}, second),
        400,
        'conversation_locked',
        'conversation',
      );
      assert.equal(plain.calls.length, 1);
      const waiting = background.when(async () => {
        const answer = await create({ input: 'Patient', conversation: id }, {}, second);
        return answer.status === 200 ? answer : undefined;
      });
      permits.give();
      permits.give();
      assert.deepEqual([(await first).status, (await waiting).status], [200, 200]);
      assert.deepEqual(await textsIn(id), ['First', 'You said: First', 'Patient', 'You said: Patient']);
      assert.deepEqual(plain.calls[1]?.body.input.map(textOf), ['First', 'You said: First', 'Patient']);
    });

    test('many responses at once: each is refused or appended as a whole, and none is lost', async () => {
      const id = await newConversation();
      const names = Array.from({ length: 12 }, (_, index) => `turn ${index}`);
      const answers = await Promise.all(
        names.map((input, index) =>
          create({ input, conversation: id, stream: index % 2 === 0 }, {}, index % 3 === 0 ? second : gateway),
        ),
      );
      const done = names.filter((_, index) => answers[index]?.status === 200);
      for (const { status, body } of answers)
        if (status !== 200) assert.equal(body.error.code, 'conversation_locked', JSON.stringify(body));
      assert.ok(done.length > 0);
      const texts = await textsIn(id);
      assert.equal(texts.length, done.length * 2);
      const order = texts.filter((_, index) => index % 2 === 0);
      assert.deepEqual(order.toSorted(), done.toSorted());
      assert.deepEqual(
        texts,
        order.flatMap((text) => [text, `You said: ${text}`]),
      );
      // Each has read everything that was appended before it.
      for (const { body } of plain.calls)
        assert.deepEqual(body.input.map(textOf), texts.slice(0, texts.indexOf(textOf(body.input.at(-1))) + 1));
    });

    test('items that a client adds while a response is made stand before those of the response', async () => {
      const id = await newConversation();
      const permits = createPermits();
      plain.beforeEnd = () => permits.take();
      const asked = create({ input: 'Question', conversation: id });
      await background.when(() => plain.calls[0]);
      await request('POST', `/${id}/items`, { items: [user('Note')] });
      permits.give();
      assert.equal((await asked).status, 200);
      assert.deepEqual(await textsIn(id), ['Note', 'Question', 'You said: Question']);
    });

    test('an answer to a conversation that was deleted meanwhile is an answer like others', async () => {
      const id = await newConversation();
      const permits = createPermits();
      plain.beforeEnd = () => permits.take();
      const asked = create({ input: 'Question', conversation: id });
      await background.when(() => plain.calls[0]);
      assert.equal((await request('DELETE', `/${id}`)).status, 200);
      permits.give();
      assert.equal((await asked).status, 200);
      assertRefused(await request('GET', `/${id}/items`), 404, null, null);
    });

    test('what is named twice or elsewhere is refused', async () => {
      const id = await newConversation([{ ...user('Hi'), id: 'msg_here' }]);
      const first = await create({ input: 'One', conversation: id });
      const cases: [more: Json, code: string, param: string][] = [
        [{ conversation: id, previous_response_id: first.body.id }, 'invalid_request', 'previous_response_id'],
        [{ conversation: id, input: [{ ...user('Hi'), id: 'msg_here' }] }, 'invalid_request', 'input[0].id'],
        [{ conversation: id, input: [{ type: 'item_reference', id: 'msg_here' }] }, 'invalid_request', 'input[0].id'],
        [{ previous_response_id: first.body.id }, 'previous_response_not_found', 'previous_response_id'],
      ];
      for (const [more, code, param] of cases) assertRefused(await create({ input: 'x', ...more }), 400, code, param);
      const kept = await create({ model: 'keeping/m', input: 'Elsewhere' });
      const reference = [{ type: 'item_reference', id: kept.body.output[0].id }];
      assertRefused(await create({ conversation: id, input: reference }), 400, 'item_not_found', 'input[0].id');
      assert.deepEqual(await textsIn(id), ['Hi', 'One', 'You said: One']);
      const outside = await create({ input: [{ type: 'item_reference', id: 'msg_here' }, user('x')] });
      assert.equal(outside.status, 200, JSON.stringify(outside.body));
      assert.deepEqual(plain.calls.at(-1)?.body.input.map(textOf), ['Hi', 'x']);
    });

    test('tokens of a conversation are counted, and nothing is appended', async () => {
      const id = await newConversation([user('word '.repeat(500))]);
      const ask = { model: 'chat/m', input: 'Hi' };
      const [alone, all] = await Promise.all(
        [ask, { ...ask, conversation: id }].map(async (body) =>
          answered(await post(`${gateway.url}/v1/responses/input_tokens`, body, HEADERS.chat)),
        ),
      );
      assert.ok(all?.body.input_tokens > alone?.body.input_tokens + 300, JSON.stringify(all?.body));
      assert.equal((await textsIn(id)).length, 1);
    });

    for (const model of ['plain/m', 'keeping/m', 'chat/m']) {
      test(`responses in the background come one after the other (${model})`, { timeout: 120_000 }, async () => {
        const id = await newConversation([user('Before')]);
        const inputs = ['One', 'Two', 'Three'];
        const queued = await Promise.all(
          inputs.map((input, index) =>
            background.create({ model, input, conversation: id, store: index > 0, stream: false }),
          ),
        );
        for (const { status, body } of queued) {
          assert.equal(status, 200, JSON.stringify(body));
          assert.deepEqual(body.conversation, { id });
          const ended = await background.ended(body.id);
          assert.deepEqual([ended.status, ended.conversation], ['completed', { id }], JSON.stringify(ended));
        }
        const texts = await textsIn(id);
        assert.equal(texts.length, 7);
        const asked = texts.slice(1).filter((_, index) => index % 2 === 0);
        assert.deepEqual(asked.toSorted(), inputs.toSorted());
      });
    }

    test('a cancelled response in the background appends nothing', async () => {
      const id = await newConversation();
      const permits = createPermits();
      plain.beforeEnd = () => permits.take();
      const { body } = await background.create({ model: 'plain/m', input: 'One', conversation: id, store: true });
      await background.when(() => plain.calls[0]);
      assert.equal((await background.request('POST', `${body.id}/cancel`)).body.status, 'cancelled');
      assert.equal(await plain.calls[0]?.closed, 'aborted');
      plain.beforeEnd = undefined;
      const next = await background.when(async () => {
        const answer = await create({ input: 'Two', conversation: id });
        return answer.status === 200 ? answer : undefined;
      });
      assert.equal(next.status, 200);
      assert.deepEqual(await textsIn(id), ['Two', 'You said: Two']);
    });

    test('over a WebSocket', async () => {
      const id = await newConversation([user('Before')]);
      const socket = await connect(gateway.url);
      const first = await socket.ask({ model: 'plain/m', input: 'One', conversation: id });
      assert.deepEqual(first.response.conversation, { id });
      const unstored = await socket.ask({ model: 'plain/m', input: 'Two', conversation: id, store: false });
      assert.deepEqual(unstored.response.conversation, { id });
      const lost = await socket.ask({ model: 'plain/m', input: 'x', previous_response_id: unstored.response.id });
      assert.equal(lost.error.code, 'previous_response_not_found');
      const both = { previous_response_id: first.response.id, conversation: id };
      assert.equal((await socket.ask({ model: 'plain/m', input: 'x', ...both })).error.code, 'invalid_request');
      await socket.ask({ model: 'plain/m', input: 'never', conversation: id, generate: false });
      const last = await socket.ask({ model: 'chat/m', input: 'Three', conversation: id });
      assert.equal(last.type, 'response.completed', JSON.stringify(last));
      await socket.close();
      const texts = await textsIn(id);
      assert.deepEqual(texts.slice(0, 6), ['Before', 'One', 'You said: One', 'Two', 'You said: Two', 'Three']);
      assert.equal(texts.length, 7);
    });
  }),
);
