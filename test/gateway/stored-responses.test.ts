/** Stored responses of upstreams that speak the protocol: kept by the gateway, or by the upstream. */

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { parseEvents } from '../../src/core/sse.ts';
import { startProvider } from '../clients/upstreams.ts';
import { providePostgres, type TestDatabase } from '../store/postgres-server.ts';
import { forEachStore } from '../store/stores.ts';
import {
  answerEvents,
  HEADERS,
  post,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';
import { messageOf, type ResponsesUpstream, startResponsesUpstream } from './responses-upstream.ts';

const OTHER = 'sk-another-key-0123456789abcdef';
const STORELESS = 'sk-stores-nothing-0123456789ab';
const READER = 'sk-only-reads-0123456789abcdef0';
const withKey = (key: string) => ({ authorization: `Bearer ${key}` });

forEachStore((engine) =>
  describe(engine, () => {
    let plain: ResponsesUpstream;
    let keeping: ResponsesUpstream;
    let patching: TestUpstream;
    let gateway: TestGateway;
    let database: TestDatabase | undefined;

    before(async () => {
      plain = await startResponsesUpstream({ keeps: false, prefix: 'p' });
      keeping = await startResponsesUpstream({ keeps: true, prefix: 'k' });
      const args = { type: 'delete_file', path: 'a' };
      const calls = [1, 2].map((number) => ({ id: `call_${number}`, name: 'apply_patch', args }));
      patching = await startProvider(
        'chat',
        calls.map((call) => ({ thought: 'Well.', signature: 's', calls: [call] })),
      );
      database = engine === 'postgres' ? await providePostgres() : undefined;
      gateway = await startTestGateway(
        `
providers:
  plain: { type: open-responses, base_url: "${plain.url}/v1", models: [{ id: m }] }
  second: { type: open-responses, base_url: "${plain.url}/v1", models: [{ id: m }] }
  keeping: { type: openai, base_url: "${keeping.url}/v1", api_keys: [key-one, key-two, key-three], models: [{ id: m }] }
  patching: { type: openai-compatible, base_url: "${patching.url}/v1", api_key: k, models: [{ id: m }] }
models:
  house/both: { endpoints: [{ provider: plain, model: m, priority: 0 }, { provider: keeping, model: m, priority: 1 }] }
`,
        {
          keys: [
            `{ name: other, key: ${OTHER} }`,
            `{ name: storeless, key: ${STORELESS}, store_responses: false }`,
            `{ name: reader, key: ${READER}, read_only: true }`,
          ],
          ...(database && { postgres: database.url }),
        },
      );
    });
    after(async () => {
      await gateway.close();
      await plain.close();
      await keeping.close();
      await patching.close();
      await database?.close();
    });
    beforeEach(() => {
      for (const upstream of [plain, keeping]) {
        upstream.calls.length = 0;
        Object.assign(upstream, { output: undefined, changes: {}, beforeEnd: undefined, pause: undefined });
      }
    });

    interface Answered {
      status: number;
      headers: Headers;
      body: Json;
    }

    async function answered(response: Response): Promise<Answered> {
      const text = await response.text();
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
      const body = isStream
        ? JSON.parse(parseEvents(Buffer.from(text)).at(-1)?.data ?? '{}').response
        : JSON.parse(text);
      return { status: response.status, headers: response.headers, body };
    }

    async function create(body: Json, headers: Record<string, string> = {}): Promise<Answered> {
      return answered(
        await post(`${gateway.url}/v1/responses`, { model: 'plain/m', ...body }, { ...HEADERS.chat, ...headers }),
      );
    }

    async function request(method: string, path: string, headers: Record<string, string> = {}): Promise<Answered> {
      return answered(
        await fetch(`${gateway.url}/v1/responses/${path}`, { method, headers: { ...HEADERS.chat, ...headers } }),
      );
    }

    const textsOf = (input: Json): string[] =>
      input.map(({ type, role, content, output, name, id }: Json) =>
        typeof content === 'string' ? content : (content?.[0]?.text ?? output ?? name ?? `${type ?? role} ${id ?? ''}`),
      );

    function assertRefused(
      { status, body }: Answered,
      code: string | null,
      param: string | null,
      expected = 400,
    ): void {
      assert.deepEqual([status, body.error?.code, body.error?.param], [expected, code, param], JSON.stringify(body));
      assert.equal(body.error.type, 'invalid_request_error');
    }

    for (const stream of [false, true]) {
      describe(stream ? 'streamed' : 'whole', () => {
        test('a chain is sent whole to an upstream that keeps nothing, without earlier instructions (checklist 103)', async () => {
          const first = await create({ input: 'One', instructions: 'Be brief.', metadata: { a: 'b' }, stream });
          const second = await create({
            input: [{ role: 'user', content: 'Two' }],
            previous_response_id: first.body.id,
            stream,
          });
          const third = await create({
            input: 'Three',
            previous_response_id: second.body.id,
            model: 'second/m',
            stream,
          });
          assert.deepEqual([first.status, second.status, third.status], [200, 200, 200]);
          const [, , last] = plain.calls;
          assert.deepEqual(textsOf(last?.body.input), ['One', 'You said: One', 'Two', 'You said: Two', 'Three']);
          assert.deepEqual(last?.body.input[0], {
            type: 'message',
            role: 'user',
            content: [{ type: 'input_text', text: 'One' }],
          });
          assert.deepEqual(last?.body.input[1], first.body.output[0]);
          assert.equal(last?.body.instructions, undefined);
          assert.equal(last?.body.previous_response_id, undefined);
          const found = await request('GET', first.body.id);
          assert.equal(found.status, 200);
          assert.deepEqual(found.body, first.body);
          assert.equal(found.body.model, 'plain/m');
          assert.equal(found.headers.get('cache-control'), 'no-store');
        });

        test('reasoning at the end of an answer, which is refused there, is left out of the chain', async () => {
          const reasoning = (id: string) => ({ id, type: 'reasoning', summary: [], encrypted_content: id });
          let count = 0;
          plain.output = () => {
            count += 1;
            const names = [`rs_a${count}`, `rs_b${count}`, `rs_c${count}`] as const;
            return [reasoning(names[0]), messageOf(`msg_${count}`, 'So'), reasoning(names[1]), reasoning(names[2])];
          };
          const first = await create({ input: 'One', stream });
          const second = await create({ input: 'Two', previous_response_id: first.body.id, stream });
          await create({ input: 'Three', previous_response_id: second.body.id, stream });
          const idsOf = (call: number) =>
            plain.calls[call]?.body.input.flatMap(({ type, id }: Json) => (type === 'reasoning' ? [id] : []));
          assert.deepEqual([idsOf(1), idsOf(2)], [['rs_a1'], ['rs_a1', 'rs_a2']]);
        });

        test('a response names the one that it continues, though its upstream got the whole chain', async () => {
          const first = await create({ input: 'One', stream });
          const second = await create({ input: 'Two', previous_response_id: first.body.id, stream });
          const third = await create({
            input: 'Three',
            previous_response_id: second.body.id,
            model: 'keeping/m',
            stream,
          });
          assert.deepEqual([second.status, third.status], [200, 200]);
          assert.equal(plain.calls[1]?.body.previous_response_id, undefined);
          assert.equal(keeping.calls[0]?.body.previous_response_id, undefined);
          assert.equal(second.body.previous_response_id, first.body.id);
          assert.equal(third.body.previous_response_id, second.body.id);
          assert.deepEqual((await request('GET', second.body.id)).body, second.body);
        });

        test('calls of built-in tools that joined in the input come back as their own items, in a chain too', async () => {
          const model = 'patching/m';
          const tools = [{ type: 'apply_patch' }];
          const joining = { type: 'additional_tools', role: 'developer', tools };
          const first = await create({ model, input: [joining, { role: 'user', content: 'Delete it.' }], stream });
          const output = { type: 'apply_patch_call_output', call_id: 'call_1', status: 'failed', output: 'busy' };
          const second = await create({ model, input: [output], previous_response_id: first.body.id, stream });
          for (const [index, { body }] of [first, second].entries()) {
            const { id, ...call } = body.output.at(-1);
            assert.match(id, /^apc_/);
            const operation = { type: 'delete_file', path: 'a' };
            const about = { type: 'apply_patch_call', call_id: `call_${index + 1}`, status: 'completed' };
            assert.deepEqual(call, { ...about, operation });
          }
        });

        test('item references are replaced by their items (checklist 104)', async () => {
          const first = await create({ input: 'One', stream });
          const { id } = first.body.output[0];
          const input = [
            { role: 'user', content: 'One' },
            { type: 'item_reference', id },
            { role: 'user', content: 'Two' },
          ];
          const second = await create({ input, stream });
          assert.equal(second.status, 200);
          assert.deepEqual(plain.calls[1]?.body.input, [input[0], first.body.output[0], input[2]]);
          // Without a type, and through a chain.
          const third = await create({
            input: [{ id }, 'x'].slice(0, 1),
            previous_response_id: second.body.id,
            stream,
          });
          assert.equal(third.status, 200, JSON.stringify(third.body));
          assert.deepEqual(textsOf(plain.calls[2]?.body.input), [
            'One',
            'You said: One',
            'Two',
            'You said: Two',
            'You said: One',
          ]);
        });

        test('results of parallel and custom calls continue a chain alone, with media', async () => {
          const calls = [
            {
              id: 'fc_1',
              type: 'function_call',
              call_id: 'c1',
              name: 'f',
              namespace: 'n',
              arguments: '{}',
              status: 'completed',
            },
            { id: 'ctc_1', type: 'custom_tool_call', call_id: 'c2', name: 'g', input: 'text' },
          ];
          plain.output = (_body, number) =>
            calls[0] && number > 0 && plain.calls.length === 1 ? calls : [messageOf('msg_x', 'Done')];
          const first = await create({ input: 'Call', stream });
          const image = { type: 'input_image', image_url: `data:image/png;base64,${'A'.repeat(9000)}`, detail: 'auto' };
          const results = [
            { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'r1' }, image] },
            { type: 'custom_tool_call_output', call_id: 'c2', output: 'r2' },
          ];
          const second = await create({ input: results, previous_response_id: first.body.id, stream });
          assert.equal(second.status, 200);
          assert.deepEqual(plain.calls[1]?.body.input.slice(1), [...calls, ...results]);
          const third = await create({ input: 'And?', previous_response_id: second.body.id, stream });
          assert.deepEqual(plain.calls[2]?.body.input.slice(1, 5), [...calls, ...results]);
          assert.equal(third.status, 200);
        });

        test('reasoning goes back to its origin, and to no other', async () => {
          const reasoning = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'sealed', status: null };
          const open = {
            id: 'rs_2',
            type: 'reasoning',
            summary: [],
            content: [{ type: 'reasoning_text', text: 'hm' }],
          };
          plain.output = (_body, number) => [reasoning, open, messageOf(`msg_${number}`, 'Hi')];
          const first = await create({ input: 'One', stream });
          const again = { input: 'Two', previous_response_id: first.body.id, stream };
          await create(again);
          const { status: _status, ...sent } = reasoning;
          assert.deepEqual(plain.calls[1]?.body.input.slice(1, 4), [sent, open, first.body.output[2]]);
          const elsewhere = await create({ ...again, model: 'second/m' });
          assert.equal(elsewhere.status, 200);
          const { id: _id, ...message } = first.body.output[2];
          assert.deepEqual(plain.calls[2]?.body.input.slice(1, 2), [message]);
          assert.ok(!plain.calls[2]?.bytes.includes('sealed'));
        });

        test('a chain of an upstream that keeps responses goes to its account, byte for byte', async () => {
          const turns: Answered[] = [];
          for (let turn = 0; turn < 6; turn++) {
            const previous = turns.at(-1)?.body.id;
            const input = [{ role: 'user', content: `Turn ${turn} of a conversation that is known by nothing else` }];
            turns.push(
              await create({ model: 'keeping/m', input, stream, ...(previous && { previous_response_id: previous }) }),
            );
            assert.equal(turns.at(-1)?.status, 200, JSON.stringify(turns.at(-1)?.body));
          }
          const accounts = new Set(keeping.calls.map(({ headers }) => headers.authorization));
          assert.equal(accounts.size, 1);
          assert.deepEqual(keeping.calls[5]?.body, {
            model: 'm',
            input: [{ role: 'user', content: 'Turn 5 of a conversation that is known by nothing else' }],
            stream,
            previous_response_id: turns[4]?.body.id,
          });
          const item = turns[2]?.body.output[0].id;
          const input = [
            { type: 'item_reference', id: item },
            { role: 'user', content: 'And?' },
          ];
          const last = await create({ model: 'keeping/m', input, stream });
          assert.equal(last.status, 200, JSON.stringify(last.body));
          assert.deepEqual(keeping.calls.at(-1)?.body.input, input);
          assert.ok(accounts.has(keeping.calls.at(-1)?.headers.authorization));
        });

        test('no other account or provider is tried for it (checklist 105)', async () => {
          const first = await create({ model: 'keeping/m', input: 'One', stream });
          keeping.calls.length = 0;
          assertRefused(
            await create({ model: 'plain/m', input: 'Two', previous_response_id: first.body.id, stream }),
            'previous_response_not_found',
            'previous_response_id',
          );
          const item = first.body.output[0].id;
          const referring = { model: 'second/m', input: [{ type: 'item_reference', id: item }], stream };
          assertRefused(await create(referring), 'item_not_found', 'input[0].id');
          assert.deepEqual([plain.calls.length, keeping.calls.length], [0, 0]);
          // A model of both goes to the one that keeps the chain.
          const both = await create({ model: 'house/both', input: 'Two', previous_response_id: first.body.id, stream });
          assert.equal(both.status, 200);
          assert.deepEqual([plain.calls.length, keeping.calls.length], [0, 1]);
        });

        test('a chain of the gateway may go to an upstream that keeps responses, and is its own from there on', async () => {
          const first = await create({ input: 'One', stream });
          const second = await create({
            model: 'keeping/m',
            input: 'Two',
            previous_response_id: first.body.id,
            stream,
          });
          assert.equal(second.status, 200, JSON.stringify(second.body));
          assert.deepEqual(textsOf(keeping.calls[0]?.body.input), ['One', 'You said: One', 'Two']);
          const third = await create({
            model: 'keeping/m',
            input: 'Three',
            previous_response_id: second.body.id,
            stream,
          });
          assert.equal(third.status, 200);
          assert.equal(keeping.calls[1]?.body.input, 'Three');
          assertRefused(
            await create({ input: 'Three', previous_response_id: second.body.id, stream }),
            'previous_response_not_found',
            'previous_response_id',
          );
        });

        test('store set to false keeps nothing, with either upstream (checklist 106)', async () => {
          for (const model of ['plain/m', 'keeping/m']) {
            const first = await create({ model, input: 'One', store: false, stream });
            assert.equal(first.body.store, false);
            assertRefused(await request('GET', first.body.id), null, null, 404);
            const next = { model, input: 'Two', previous_response_id: first.body.id, stream };
            assertRefused(await create(next), 'previous_response_not_found', 'previous_response_id');
            const input = [{ type: 'item_reference', id: first.body.output[0].id }];
            assertRefused(await create({ model, input, stream }), 'item_not_found', 'input[0].id');
          }
        });

        test('an upstream that says it stores nothing is believed', async () => {
          keeping.changes = { store: false };
          const first = await create({ model: 'keeping/m', input: 'One', stream });
          assert.equal(first.headers.get('x-polygate-dropped'), null);
          assertRefused(await request('GET', first.body.id), null, null, 404);
        });

        test('a failed answer is not stored', async () => {
          plain.changes = { status: 'failed', error: { code: 'server_error', message: 'Broken.' } };
          const { status, body } = await create({ input: 'One', stream });
          const id = body.id ?? `resp_p${plain.count}`;
          assert.ok(status === 502 || body.status === 'failed');
          assertRefused(await request('GET', id), null, null, 404);
        });

        test('the next turn may begin as soon as the last event is there (checklist 103)', async () => {
          for (let round = 0; round < 20; round++) {
            const response = await post(
              `${gateway.url}/v1/responses`,
              { model: 'plain/m', input: 'One', stream: true },
              HEADERS.chat,
            );
            const reader = response.body?.getReader();
            let text = '';
            while (!text.includes('response.completed'))
              text += Buffer.from((await reader?.read())?.value ?? '').toString();
            const id = /"id":"(resp_[^"]+)"/.exec(text)?.[1];
            const next = await create({ input: 'Two', previous_response_id: id, stream });
            assert.equal(next.status, 200);
            await reader?.cancel();
          }
        });
      });
    }

    describe('ids', () => {
      test('of the first and of the last event of a stream, where they differ', async () => {
        // As OpenRouter and Copilot do.
        const events = [
          { type: 'response.created', response: { id: 'gen-1', status: 'in_progress', output: [] } },
          { type: 'response.output_item.added', output_index: 0, item: { ...messageOf('m-1', ''), content: [] } },
          { type: 'response.output_item.done', output_index: 0, item: messageOf('m-2', 'Hi') },
          {
            type: 'response.completed',
            response: { id: 'gen-2', status: 'completed', output: [messageOf('m-3', 'Hi')] },
          },
        ];
        const frames = (list: Json[]) =>
          list.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
        let sent = events;
        const odd = await startUpstream((_call, response) => answerEvents(response, frames(sent)));
        const small = await startTestGateway(`
providers:
  odd: { type: open-responses, base_url: "${odd.url}/v1", models: [{ id: m }] }
`);
        const ask = async (body: Json) =>
          answered(await post(`${small.url}/v1/responses`, { model: 'odd/m', stream: true, ...body }, HEADERS.chat));
        await ask({ input: 'One' });
        for (const id of ['gen-1', 'gen-2'])
          assert.equal((await ask({ input: 'Two', previous_response_id: id })).status, 200, id);
        for (const id of ['m-2', 'm-3'])
          assert.equal((await ask({ input: [{ type: 'item_reference', id }] })).status, 200, id);
        assert.equal((await ask({ input: [{ type: 'item_reference', id: 'm-1' }] })).status, 400);
        // An empty output in the last event.
        sent = [
          ...events.slice(0, -1),
          { type: 'response.completed', response: { id: 'gen-3', status: 'completed', output: [] } },
        ];
        await ask({ input: 'Three' });
        await ask({ input: 'Four', previous_response_id: 'gen-3' });
        assert.deepEqual(textsOf(odd.calls.at(-1)?.body.input), ['Three', 'Hi', 'Four']);
        await small.close();
        await odd.close();
      });

      test('those of another key are unknown on every path (checklist 106)', async () => {
        for (const model of ['plain/m', 'keeping/m']) {
          const first = await create({ model, input: 'One' });
          const { id } = first.body;
          const item = first.body.output[0].id;
          const stranger = withKey(OTHER);
          const unknown = async (name: string, make: (name: string) => Promise<Answered>) => {
            const [real, none] = [await make(name), await make('resp_none')];
            assert.deepEqual(
              [real.status, JSON.stringify(real.body).replaceAll(name, 'resp_none')],
              [none.status, JSON.stringify(none.body)],
            );
            assert.ok(real.status === 404 || real.status === 400);
          };
          await unknown(id, (name) => request('GET', name, stranger));
          await unknown(id, (name) => request('GET', `${name}?stream=true`, stranger));
          await unknown(id, (name) => request('DELETE', name, stranger));
          await unknown(id, (name) => request('GET', `${name}/input_items`, stranger));
          await unknown(id, (name) => create({ model, input: 'Two', previous_response_id: name }, stranger));
          await unknown(item, (name) => create({ model, input: [{ type: 'item_reference', id: name }] }, stranger));
          const cache = (name: string) => ({ prompt_cache_options: { comparison_response_id: name } });
          await unknown(id, (name) => create({ model, input: 'Two', ...cache(name) }, stranger));
          const items = await request('GET', `${id}/input_items`);
          const input = items.body.data[0]?.id;
          await unknown(input, (name) => create({ model, input: [{ type: 'item_reference', id: name }] }, stranger));
          assert.equal((await request('GET', id)).status, 200);
        }
      });

      test('that are malformed are unknown', async () => {
        for (const id of ['%00', 'a%00b', 'x'.repeat(5000), '%F0%9F%A6%8A', "';--", '..%2Fx'])
          assert.equal((await request('GET', id)).status, 404, id);
        for (const id of ['', '\0', 'x'.repeat(60_000), '🦊']) {
          assertRefused(
            await create({ input: 'x', previous_response_id: id }),
            'previous_response_not_found',
            'previous_response_id',
          );
          assertRefused(await create({ input: [{ type: 'item_reference', id }] }), 'item_not_found', 'input[0].id');
        }
        const tooLong = await create({ input: 'x', previous_response_id: 'x'.repeat(70_000) });
        assertRefused(tooLong, 'invalid_request', 'previous_response_id');
        assertRefused(await create({ input: 'x', previous_response_id: 7 }), 'invalid_request', 'previous_response_id');
        assert.equal(plain.calls.length, 0);
      });

      test('of a response with which the use of caches is compared stay with its account', async () => {
        const first = await create({ model: 'keeping/m', input: 'One' });
        const cache = (id: string) => ({ prompt_cache_options: { comparison_response_id: id } });
        const second = await create({ model: 'keeping/m', input: 'Two', ...cache(first.body.id) });
        assert.equal(second.status, 200);
        assert.deepEqual(keeping.calls[1]?.body.prompt_cache_options, { comparison_response_id: first.body.id });
        assert.equal(keeping.calls[0]?.headers.authorization, keeping.calls[1]?.headers.authorization);
        const param = 'prompt_cache_options.comparison_response_id';
        const own = await create({ input: 'One' });
        for (const id of [own.body.id, 'resp_none'])
          assertRefused(await create({ input: 'Two', ...cache(id) }), 'previous_response_not_found', param);
      });
    });

    describe('resources', () => {
      test('input items come in pages, each with an id that may be referred to', async () => {
        const input = Array.from({ length: 5 }, (_, index) => ({ role: 'user', content: `Text ${index}` }));
        const first = await create({ input });
        const second = await create({ input: 'Last', previous_response_id: first.body.id });
        const path = `${second.body.id}/input_items`;
        const whole = await request('GET', `${path}?order=asc`);
        assert.equal(whole.body.object, 'list');
        assert.deepEqual(textsOf(whole.body.data), [
          'Text 0',
          'Text 1',
          'Text 2',
          'Text 3',
          'Text 4',
          'You said: Text 4',
          'Last',
        ]);
        const ids = whole.body.data.map(({ id }: Json) => id);
        assert.equal(new Set(ids).size, 7);
        for (const id of ids) assert.match(id, /^msg_\w{1,60}$/);
        assert.deepEqual([whole.body.first_id, whole.body.last_id, whole.body.has_more], [ids[0], ids[6], false]);
        const newest = (await request('GET', path)).body;
        assert.deepEqual(newest.data, whole.body.data.toReversed());
        const page = (await request('GET', `${path}?limit=3&order=asc&after=${ids[1]}`)).body;
        assert.deepEqual([page.data.map(({ id }: Json) => id), page.has_more], [ids.slice(2, 5), true]);
        const previous = (await request('GET', `${path}?limit=2&order=asc&before=${ids[5]}`)).body;
        assert.deepEqual([previous.data.map(({ id }: Json) => id), previous.has_more], [ids.slice(3, 5), true]);
        for (const [query, param] of [
          ['limit=0', 'limit'],
          ['limit=101', 'limit'],
          ['order=up', 'order'],
          ['after=msg_x', 'after'],
        ])
          assertRefused(await request('GET', `${path}?${query}`), 'invalid_request', param ?? '');
        plain.calls.length = 0;
        await create({ input: [{ type: 'item_reference', id: ids[3] }] });
        assert.deepEqual(textsOf(plain.calls[0]?.body.input), ['Text 3']);
      });

      test('a stored response comes as the events of its stream, from a number on (checklist 91)', async () => {
        plain.output = () => [
          { id: 'rs_9', type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] },
          { id: 'fc_9', type: 'function_call', call_id: 'c', name: 'f', arguments: '{"a":1}', status: 'completed' },
          messageOf('msg_9', 'Hi'),
        ];
        const first = await create({ input: 'One' });
        const url = `${gateway.url}/v1/responses/${first.body.id}?stream=true`;
        const events = parseEvents(Buffer.from(await (await fetch(url, { headers: HEADERS.chat })).text()));
        const parsed = events.map(({ data }) => JSON.parse(data));
        assert.deepEqual(
          parsed.map((event) => event.sequence_number),
          parsed.map((_, index) => index),
        );
        assert.equal(parsed[0].type, 'response.created');
        assert.deepEqual(parsed.at(-1), {
          type: 'response.completed',
          sequence_number: parsed.length - 1,
          response: first.body,
        });
        const rest = await (
          await fetch(`${url}&starting_after=${parsed.length - 3}`, { headers: HEADERS.chat })
        ).text();
        assert.deepEqual(parseEvents(Buffer.from(rest)), events.slice(-2));
        const wrong = await request('GET', `${first.body.id}?stream=perhaps`);
        assertRefused(wrong, 'invalid_request', 'stream');
      });

      test('a deleted response is unknown, and so are chains and items (checklist 106)', async () => {
        for (const model of ['plain/m', 'keeping/m']) {
          const first = await create({ model, input: 'One' });
          const second = await create({ model, input: 'Two', previous_response_id: first.body.id });
          const { id } = first.body;
          const deleted = await request('DELETE', id);
          assert.deepEqual([deleted.status, deleted.body], [200, { id, object: 'response.deleted', deleted: true }]);
          for (const method of ['GET', 'DELETE']) {
            const gone = await request(method, id);
            assertRefused(gone, null, null, 404);
            assert.equal(gone.body.error.message, `Response with id '${id}' not found.`);
          }
          assertRefused(await request('GET', `${id}/input_items`), null, null, 404);
          assertRefused(
            await create({ model, input: 'x', previous_response_id: id }),
            'previous_response_not_found',
            'previous_response_id',
          );
          const input = [{ type: 'item_reference', id: first.body.output[0].id }];
          assertRefused(await create({ model, input }), 'item_not_found', 'input[0].id');
          if (model === 'plain/m') {
            assertRefused(
              await create({ model, input: 'x', previous_response_id: second.body.id }),
              'previous_response_not_found',
              'previous_response_id',
            );
          }
        }
      });

      test('of an upstream that keeps them are asked there, in the account of the response', async () => {
        const first = await create({ model: 'keeping/m', input: 'One' });
        const { authorization } = keeping.calls[0]?.headers ?? {};
        const found = await request('GET', `${first.body.id}?include[]=reasoning.encrypted_content&evil=1`);
        assert.deepEqual(found.body, { ...first.body, usage: found.body.usage });
        assert.equal(found.body.model, 'keeping/m');
        const items = await request('GET', `${first.body.id}/input_items?limit=3`);
        assert.deepEqual(items.body, { object: 'list', data: [{ id: 'in_1' }], query: 'limit=3' });
        const stream = await fetch(`${gateway.url}/v1/responses/${first.body.id}?stream=true`, {
          headers: HEADERS.chat,
        });
        const events = parseEvents(Buffer.from(await stream.text()));
        assert.equal(JSON.parse(events.at(-1)?.data ?? '').response.model, 'keeping/m');
        for (const call of keeping.calls) assert.equal(call.headers.authorization, authorization);
        assert.equal(
          keeping.calls[1]?.path,
          `/v1/responses/${first.body.id}?include%5B%5D=reasoning.encrypted_content`,
        );
      });

      test('of an upstream that asks for a pause say how long', async () => {
        const { id } = (await create({ model: 'keeping/m', input: 'One' })).body;
        keeping.pause = '17';
        for (const [method, path] of [
          ['GET', id],
          ['GET', `${id}/input_items`],
          ['DELETE', id],
        ]) {
          const asked = { method, headers: HEADERS.chat };
          const { status, headers } = await fetch(`${gateway.url}/v1/responses/${path}`, asked);
          assert.deepEqual([status, headers.get('retry-after')], [429, '17']);
        }
      });

      test('have metadata with names of at most 64 characters', async () => {
        const named = (length: number) =>
          create({ model: 'sandbox/echo', input: 'One', metadata: { ['n'.repeat(length)]: 'x' } });
        assert.equal((await named(64)).status, 200);
        assertRefused(await named(65), 'invalid_request', 'metadata');
      });

      test('need a key of the surface; a read-only key may not delete', async () => {
        const { status } = await request('GET', 'resp_1', { authorization: 'Bearer wrong-key-0123456789' });
        assert.equal(status, 401);
        assert.equal((await request('GET', 'resp_1', withKey(READER))).status, 404);
        assert.equal((await request('DELETE', 'resp_1', withKey(READER))).status, 403);
      });
    });

    describe('a key that stores nothing', () => {
      test('is told so, and so is the upstream', async () => {
        for (const [model, upstream] of [
          ['plain/m', plain],
          ['keeping/m', keeping],
        ] as const) {
          const first = await create({ model, input: 'One' }, withKey(STORELESS));
          assert.equal(first.status, 200);
          assert.equal(upstream.calls[0]?.body.store, false);
          assert.equal(first.body.store, false);
          const referring = await create({ model, input: [{ type: 'item_reference', id: 'x' }] }, withKey(STORELESS));
          assertRefused(referring, 'item_not_found', 'input[0].id');
          assert.match(referring.body.error.message, /set store to false in the client/);
          assertRefused(
            await create({ model, input: 'x', previous_response_id: first.body.id }, withKey(STORELESS)),
            'previous_response_not_found',
            'previous_response_id',
          );
        }
      });
    });

    describe('tokens', () => {
      test('of a chain are counted where it is kept, and estimated with it elsewhere', async () => {
        const count = (body: Json) =>
          post(`${gateway.url}/v1/responses/input_tokens`, body, HEADERS.chat).then(answered);
        const kept = await create({ model: 'keeping/m', input: 'One' });
        const counted = await count({ model: 'keeping/m', input: 'Two', previous_response_id: kept.body.id });
        assert.deepEqual([counted.status, counted.body.input_tokens], [200, 7]);
        assert.equal(keeping.calls[1]?.body.previous_response_id, kept.body.id);
        const own = await create({ input: 'word '.repeat(400) });
        const [short, long] = [
          await count({ model: 'plain/m', input: 'Two' }),
          await count({ model: 'plain/m', input: 'Two', previous_response_id: own.body.id }),
        ];
        assert.ok(long.body.input_tokens > short.body.input_tokens + 300, JSON.stringify([short.body, long.body]));
        assertRefused(
          await count({ model: 'plain/m', input: 'Two', previous_response_id: 'resp_none' }),
          'previous_response_not_found',
          'previous_response_id',
        );
      });
    });
  }),
);
