/** Streams of background responses: read at once, later and again, from any event on and on any gateway. */

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { createFramer, parseFrame } from '../../src/core/sse.ts';
import { SIGNATURE, startProvider, THOUGHT } from '../clients/upstreams.ts';
import { providePostgres, type TestDatabase } from '../store/postgres-server.ts';
import { forEachStore } from '../store/stores.ts';
import { type BackgroundClient, createBackgroundClient } from './background-client.ts';
import {
  createPermits,
  HEADERS,
  type Permits,
  post,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';
import { type ResponsesUpstream, startResponsesUpstream } from './responses-upstream.ts';

const OTHER = 'sk-another-key-0123456789abcdef';
const OTHERS = ['chat', 'messages', 'generate'] as const;
/** Deltas of the stream that is too long to be kept. */
const LONG_DELTAS = 40;
const DELTA_BYTES = 256 * 1024;

/** Events of a stream, as many as asked for; the connection is closed after them. */
async function eventsOf(response: Response, most = Number.POSITIVE_INFINITY): Promise<Json[]> {
  assert.equal(response.status, 200);
  const events: Json[] = [];
  const framer = createFramer();
  try {
    for await (const chunk of response.body ?? []) {
      for (const frame of framer.push(Buffer.from(chunk))) {
        const event = parseFrame(frame);
        if (!event) continue;
        const data = JSON.parse(event.data);
        assert.equal(event.event, data.type);
        events.push(data);
        if (events.length >= most) return events;
      }
    }
  } catch {
    events.push({ type: 'cut' });
  }
  return events;
}

const numbersOf = (events: Json[]): number[] => events.map(({ sequence_number }) => sequence_number);
const countTo = (least: number, most: number) => Array.from({ length: most - least }, (_, index) => least + index);

forEachStore((engine) =>
  describe(engine, () => {
    let plain: ResponsesUpstream;
    let long: TestUpstream;
    let providers: TestUpstream[];
    let gateway: TestGateway;
    let second: TestGateway;
    let database: TestDatabase | undefined;
    let client: BackgroundClient;
    let permits: Permits;

    before(async () => {
      plain = await startResponsesUpstream({ keeps: false, prefix: 'p' });
      long = await startUpstream((_call, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const write = (event: Json) => response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
        const object = { id: 'resp_long', object: 'response', status: 'in_progress', model: 'm', output: [] };
        write({ type: 'response.created', sequence_number: 0, response: object });
        const delta = 'x'.repeat(DELTA_BYTES);
        const place = { output_index: 0, content_index: 0, item_id: 'msg_1' };
        for (let index = 0; index < LONG_DELTAS; index++)
          write({ type: 'response.output_text.delta', sequence_number: index + 1, ...place, delta });
        write({ type: 'response.completed', response: { ...object, status: 'completed', usage: null } });
        response.end();
      });
      providers = await Promise.all([
        ...OTHERS.map((protocol) => startProvider(protocol, [{ text: 'Sunny in Zürich 🦊' }])),
        startProvider('messages', [
          { thought: THOUGHT, signature: SIGNATURE, calls: [{ id: 'call_1', name: 'weather', args: {} }] },
        ]),
      ]);
      const [chat, messages, generate, thinking] = providers;
      database = engine === 'postgres' ? await providePostgres() : undefined;
      const yaml = `
encryption: { key: "${Buffer.alloc(32, 7).toString('base64')}" }
providers:
  plain: { type: open-responses, base_url: "${plain.url}/v1", models: [{ id: m }] }
  long: { type: open-responses, base_url: "${long.url}/v1", models: [{ id: m }] }
  chat: { type: openai-compatible, base_url: "${chat?.url}/v1", api_key: k, models: [{ id: m }] }
  messages: { type: anthropic, base_url: "${messages?.url}", api_key: k, models: [{ id: m }] }
  generate: { type: google, base_url: "${generate?.url}", api_key: k, models: [{ id: m }] }
  thinking: { type: anthropic, base_url: "${thinking?.url}", api_key: k, models: [{ id: m }] }
`;
      const options = { keys: [`{ name: other, key: ${OTHER} }`], ...(database && { postgres: database.url }) };
      gateway = await startTestGateway(yaml, options);
      // SQLite belongs to one gateway.
      second = database ? await startTestGateway(yaml, options) : gateway;
      client = createBackgroundClient(() => gateway.url);
    });
    after(async () => {
      if (second !== gateway) await second.close();
      await gateway.close();
      for (const upstream of [plain, long, ...providers]) await upstream.close();
      await database?.close();
    });
    beforeEach(() => {
      permits = createPermits();
      Object.assign(plain, { output: undefined, changes: {}, beforeEnd: undefined });
    });

    const start = (model: string) =>
      post(`${gateway.url}/v1/responses`, { model, input: 'Hello', background: true, stream: true }, HEADERS.chat);
    const read = (id: string, query = '', { url }: { url: string } = second) =>
      fetch(`${url}/v1/responses/${id}?stream=true${query}`, { headers: HEADERS.chat });

    for (const model of ['plain/m', ...OTHERS.map((protocol) => `${protocol}/m`)]) {
      test(`the stream can be read again from every event on, without gap or double (${model})`, async () => {
        const events = await eventsOf(await start(model));
        assert.deepEqual(numbersOf(events), countTo(0, events.length));
        const types = events.map(({ type }) => type);
        assert.deepEqual(types.slice(0, 3), ['response.created', 'response.queued', 'response.in_progress']);
        assert.equal(types.at(-1), 'response.completed');
        assert.equal(types.filter((type) => type === 'response.created' || type === 'response.completed').length, 2);
        const objects = events.flatMap(({ response }) => (response ? [response] : []));
        const [first] = objects;
        assert.deepEqual(
          objects.map(({ id, background, created_at }) => [id, background, created_at]),
          objects.map(() => [first.id, true, first.created_at]),
        );
        assert.deepEqual(
          objects.map(({ status }) => status),
          ['queued', 'queued', 'in_progress', 'completed'],
        );
        assert.deepEqual((await client.request('GET', first.id)).body, objects.at(-1));
        assert.deepEqual(await eventsOf(await read(first.id)), events);
        for (let number = 0; number < events.length; number++)
          assert.deepEqual(await eventsOf(await read(first.id, `&starting_after=${number}`)), events.slice(number + 1));
        assert.deepEqual(await eventsOf(await read(first.id, `&starting_after=999999999`)), []);
      });
    }

    test('the last event has the state of reasoning that the request includes, as the finished items have', async () => {
      const stateOf = ({ type, encrypted_content }: Json) => type === 'reasoning' && typeof encrypted_content;
      for (const [include, expected] of [
        [['reasoning.encrypted_content'], 'string'],
        [undefined, 'undefined'],
      ]) {
        const body = { model: 'thinking/m', input: 'Hello', background: true, stream: true, include };
        const events = await eventsOf(await post(`${gateway.url}/v1/responses`, body, HEADERS.chat));
        const last = events.at(-1)?.response;
        const finished = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
        assert.deepEqual(finished.map(stateOf), [expected, false]);
        assert.deepEqual(last.output, finished);
        assert.deepEqual(await eventsOf(await read(last.id)), events);
      }
    });

    test('a client that leaves finds the rest later, on another gateway, while the response is made', async () => {
      plain.beforeEnd = () => permits.take();
      const begun = await eventsOf(await start('plain/m'), 4);
      const { id } = begun[0]?.response ?? {};
      const rest = read(id, '&starting_after=3').then((response) => eventsOf(response));
      const whole = read(id, '', gateway).then((response) => eventsOf(response));
      assert.equal((await client.request('GET', id)).body.status, 'in_progress');
      permits.give();
      const events = await whole;
      assert.deepEqual(events.slice(0, 4), begun);
      assert.deepEqual(await rest, events.slice(4));
      assert.equal(events.at(-1)?.type, 'response.completed');
    });

    test('a cancelled response ends its stream', async () => {
      plain.beforeEnd = () => permits.take();
      const callsBefore = plain.calls.length;
      const [begun] = await eventsOf(await start('plain/m'), 1);
      const { id } = begun?.response ?? {};
      const stream = eventsOf(await read(id));
      await client.until(id, ({ status }) => status === 'in_progress');
      // It is in progress before it is sent.
      const call = await client.when(() => plain.calls[callsBefore]);
      assert.equal((await client.request('POST', `${id}/cancel`)).body.status, 'cancelled');
      const events = await stream;
      assert.deepEqual(numbersOf(events), countTo(0, events.length));
      assert.deepEqual([events.at(-1)?.type, events.at(-1)?.response.status], ['response.failed', 'cancelled']);
      assert.equal(await call.closed, 'aborted');
    });

    test('a client that waits for the next event is answered at once', async () => {
      plain.beforeEnd = () => permits.take();
      const [begun] = await eventsOf(await start('plain/m'), 1);
      const { id } = begun?.response ?? {};
      await client.until(id, ({ status }) => status === 'in_progress');
      const asked = performance.now();
      const waiting = await read(id, '&starting_after=999');
      assert.ok(performance.now() - asked < 5_000, 'before the first keep-alive');
      permits.give();
      assert.deepEqual(await eventsOf(waiting), []);
    });

    test('a response that is deleted while it is made ends its streams as a cancelled one', async () => {
      plain.beforeEnd = () => permits.take();
      const callsBefore = plain.calls.length;
      const [begun] = await eventsOf(await start('plain/m'), 1);
      const { id } = begun?.response ?? {};
      const streams = [
        await read(id),
        await read(id, '', gateway),
        await read(id, '&starting_after=1'),
        await read(id, '&starting_after=999'),
      ];
      const reading = Promise.all(streams.map((stream) => eventsOf(stream)));
      await client.until(id, ({ status }) => status === 'in_progress');
      const call = await client.when(() => plain.calls[callsBefore]);
      assert.equal((await client.request('DELETE', id)).status, 200);
      const [first = [], second = [], later = [], none] = await reading;
      assert.deepEqual(numbersOf(first), countTo(0, first.length));
      const last = { type: 'response.failed', sequence_number: first.length - 1 };
      assert.deepEqual(first.at(-1), { ...last, response: { ...begun?.response, status: 'cancelled' } });
      assert.deepEqual([second, later, none], [first, first.slice(2), []]);
      assert.equal(await call.closed, 'aborted');
      assert.equal((await client.request('GET', id)).status, 404);
    });

    test('what cannot be read is refused: no stream, other keys, and numbers that are none', async () => {
      plain.beforeEnd = () => permits.take();
      const { body } = await client.create({ model: 'plain/m', input: 'Whole' });
      const whole = await read(body.id);
      assert.deepEqual([whole.status, ((await whole.json()) as Json).error.param], [400, 'stream']);
      permits.give();
      await client.ended(body.id);
      const late = await eventsOf(await read(body.id));
      assert.equal(late.at(-1)?.type, 'response.completed');
      const partly = await read(body.id, '&starting_after=2');
      assert.deepEqual([partly.status, ((await partly.json()) as Json).error.param], [400, 'stream']);
      for (const number of ['-1', 'x', '9007199254740992', '1e99', '1.5', '99999999999999999999', '%00', ' ']) {
        const refused = await read(body.id, `&starting_after=${number}`);
        assert.deepEqual(
          [refused.status, ((await refused.json()) as Json).error.param],
          [400, 'starting_after'],
          number,
        );
      }
      const foreign = await fetch(`${gateway.url}/v1/responses/${body.id}?stream=true`, {
        headers: { authorization: `Bearer ${OTHER}` },
      });
      assert.equal(foreign.status, 404);
    });

    test('a stream that is too long is cut, and the response is whole', async () => {
      const events = await eventsOf(await start('long/m'));
      assert.equal(events.at(-1)?.type, 'cut');
      const kept = events.slice(0, -1);
      const { id } = kept[0]?.response ?? {};
      assert.equal((await client.ended(id)).status, 'completed');
      // The connection that was cut may have lost what was under way.
      for (;;) {
        const rest = await read(id, `&starting_after=${kept.length - 1}`);
        if (rest.status === 200) kept.push(...(await eventsOf(rest)).filter(({ type }) => type !== 'cut'));
        else {
          assert.deepEqual([rest.status, ((await rest.json()) as Json).error.param], [400, 'starting_after']);
          break;
        }
      }
      assert.deepEqual(numbersOf(kept), countTo(0, kept.length));
      assert.ok(kept.length > 3 && kept.length < LONG_DELTAS, String(kept.length));
    });
  }),
);
