/** Background responses: accepted, run, fetched and cancelled, on both engines and over every kind of upstream. */

import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Json } from '../../src/core/json/json.ts';
import type { Lease } from '../../src/store/job-rows.ts';
import type { Store } from '../../src/store/store.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { startProvider } from '../clients/upstreams.ts';
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
const STORELESS = 'sk-stores-nothing-0123456789ab';
const POOR = 'sk-has-no-money-0123456789abcd';
const SLOW = 'sk-one-a-minute-0123456789abcd';
const SINGLE = 'sk-one-at-a-time-0123456789abcd';
const OTHERS = ['chat', 'messages', 'generate'] as const;

interface FullGatewayOptions {
  responses?: string;
  /** Until when no background response is claimed. */
  claims: Promise<void>;
  postgres?: TestDatabase;
  /** Called after each call of the store; claims of background responses are named `claim`. */
  onCalled?(name: string, given: unknown, result: unknown, store: Store): Promise<void>;
}

forEachStore((engine) =>
  describe(engine, () => {
    let plain: ResponsesUpstream;
    let keeping: ResponsesUpstream;
    let endless: TestUpstream;
    let providers: TestUpstream[];
    let gateway: TestGateway;
    let second: TestGateway;
    let database: TestDatabase | undefined;
    let client: BackgroundClient;
    let permits: Permits;

    before(async () => {
      plain = await startResponsesUpstream({ keeps: false, prefix: 'p' });
      keeping = await startResponsesUpstream({ keeps: true, prefix: 'k' });
      endless = await startUpstream((_call, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const created = { type: 'response.created', sequence_number: 0, response: { id: 'r', status: 'in_progress' } };
        response.write(`event: response.created\ndata: ${JSON.stringify(created)}\n\n`);
        const timer = setInterval(() => response.write(': still here\n\n'), 20);
        response.on('close', () => clearInterval(timer));
      });
      providers = await Promise.all(OTHERS.map((protocol) => startProvider(protocol)));
      const [chat, messages, generate] = providers;
      database = engine === 'postgres' ? await providePostgres() : undefined;
      const yaml = `
encryption: { key: "${Buffer.alloc(32, 7).toString('base64')}" }
responses: { max_background: 4 }
aliases: { nick: plain/m }
providers:
  plain: { type: open-responses, base_url: "${plain.url}/v1", models: [{ id: m, pricing: { prompt: "0.000001", completion: "0.000002" } }] }
  keeping: { type: openai, base_url: "${keeping.url}/v1", api_key: k, models: [{ id: m }] }
  endless: { type: open-responses, base_url: "${endless.url}/v1", models: [{ id: m }] }
  chat: { type: openai-compatible, base_url: "${chat?.url}/v1", api_key: k, models: [{ id: m }] }
  messages: { type: anthropic, base_url: "${messages?.url}", api_key: k, models: [{ id: m }] }
  generate: { type: google, base_url: "${generate?.url}", api_key: k, models: [{ id: m }] }
`;
      const options = {
        keys: [
          `{ name: other, key: ${OTHER} }`,
          `{ name: storeless, key: ${STORELESS}, store_responses: false }`,
          `{ name: poor, key: ${POOR}, budgets: { total: "0.000001" } }`,
          `{ name: slow, key: ${SLOW}, limits: { requests_per_minute: 1 } }`,
        ],
        ...(database && { postgres: database.url }),
      };
      gateway = await startTestGateway(yaml, options);
      // SQLite belongs to one gateway.
      second = database ? await startTestGateway(yaml, options) : gateway;
      client = createBackgroundClient(() => gateway.url);
    });
    after(async () => {
      if (second !== gateway) await second.close();
      await gateway.close();
      for (const upstream of [plain, keeping, endless, ...providers]) await upstream.close();
      await database?.close();
    });
    beforeEach(() => {
      permits = createPermits();
      for (const upstream of [plain, keeping]) {
        upstream.calls.length = 0;
        Object.assign(upstream, { output: undefined, changes: {}, beforeEnd: undefined });
      }
    });

    for (const model of ['plain/m', 'keeping/m', ...OTHERS.map((protocol) => `${protocol}/m`)]) {
      test(`queued, then completed (${model}) (checklist 112)`, async () => {
        const { status, body } = await client.create({ model, input: 'Hello', metadata: { a: 'b' }, store: true });
        assert.equal(status, 200, JSON.stringify(body));
        assert.match(body.id, /^resp_[0-9a-f]{32}$/);
        assert.deepEqual(
          [body.object, body.status, body.background, body.store, body.output, body.usage, body.model],
          ['response', 'queued', true, true, [], null, model],
        );
        const ended = await client.ended(body.id);
        assert.equal(ended.status, 'completed', JSON.stringify(ended));
        assert.deepEqual(
          [ended.id, ended.created_at, ended.background, ended.store, ended.model],
          [body.id, body.created_at, true, true, model],
        );
        assert.ok(ended.output.length > 0);
        assert.ok(ended.usage.total_tokens > 0);
        const next = await client.create({ model, input: 'And?', previous_response_id: body.id, background: false });
        assert.equal(next.status, 200, JSON.stringify(next.body));
        assert.equal(next.body.status, 'completed');
      });
    }

    test('it has the name of the model that answers have from the beginning, where its request has another', async () => {
      const queued = await client.create({ model: 'nick', input: 'One', store: true });
      const begun = { model: 'nick', input: 'Two', store: true, previous_response_id: queued.body.id };
      assert.equal(queued.body.model, 'plain/m', JSON.stringify(queued.body));
      assert.equal((await client.ended(queued.body.id)).model, 'plain/m');
      const next = await client.create(begun);
      assert.equal(next.body.model, 'plain/m', JSON.stringify(next.body));
      const { status, model } = await client.ended(next.body.id);
      assert.deepEqual([status, model], ['completed', 'plain/m']);
      const whole = await client.create({ ...begun, background: false });
      assert.equal(whole.body.model, 'plain/m', JSON.stringify(whole.body));
    });

    test('a response that its provider keeps is continued by its account, in the background and after it', async () => {
      const first = await client.create({ model: 'keeping/m', input: 'One', background: false });
      assert.equal(first.status, 200, JSON.stringify(first.body));
      const queued = await client.create({
        ...{ model: 'keeping/m', input: 'Two', previous_response_id: first.body.id, store: true },
      });
      assert.equal(queued.status, 200, JSON.stringify(queued.body));
      const ended = await client.ended(queued.body.id);
      assert.deepEqual([ended.status, ended.previous_response_id], ['completed', first.body.id], JSON.stringify(ended));
      for (const isLater of [true, false]) {
        const ask = { model: 'keeping/m', input: 'Three', previous_response_id: queued.body.id, store: true };
        const last = await client.create({ ...ask, background: isLater });
        assert.equal(last.status, 200, JSON.stringify(last.body));
        if (isLater) assert.equal((await client.ended(last.body.id)).status, 'completed');
      }
      const [one, two, three, four] = keeping.calls;
      assert.equal(two?.body.previous_response_id, first.body.id);
      assert.equal(two?.body.store, false);
      for (const call of [three, four]) {
        assert.equal(call?.headers.authorization, one?.headers.authorization);
        assert.equal(call?.body.previous_response_id, first.body.id);
        const texts = call?.body.input.map(({ content }: Json) => content[0].text);
        assert.deepEqual(texts, ['Two', 'You said: Two', 'Three']);
      }
      // Only the account that keeps the beginning can go on.
      const elsewhere = await client.create({ model: 'plain/m', input: 'x', previous_response_id: queued.body.id });
      assert.deepEqual([elsewhere.status, elsewhere.body.error.code], [400, 'previous_response_not_found']);
      // Its deletion ends the chain.
      assert.equal((await client.request('DELETE', first.body.id)).status, 200);
      const gone = await client.create({ model: 'keeping/m', input: 'x', previous_response_id: queued.body.id });
      assert.deepEqual([gone.status, gone.body.error.code], [400, 'previous_response_not_found']);
    });

    test('it is in progress while the upstream answers, which is asked once, for a stream and to store nothing', async () => {
      plain.beforeEnd = () => permits.take();
      const { body } = await client.create({ model: 'plain/m', input: 'Slow' });
      const running = await client.until(body.id, ({ status }) => status !== 'queued');
      assert.deepEqual([running.status, running.output, running.usage], ['in_progress', [], null]);
      const early = { model: 'plain/m', input: 'x', previous_response_id: body.id, background: false };
      assert.equal((await client.create(early)).body.error.code, 'previous_response_not_found');
      permits.give();
      const ended = await client.ended(body.id);
      assert.equal(ended.output[0].content[0].text, 'You said: Slow');
      assert.equal(ended.store, false);
      assert.equal(plain.calls.length, 1);
      const { stream, store, background } = plain.calls[0]?.body ?? {};
      assert.deepEqual([stream, store, background], [true, false, undefined]);
      assert.equal(plain.calls[0]?.body.input.at(-1).content[0].text, 'Slow');
    });

    test('an incomplete and a failed response of the upstream end as such, and a refusal of the upstream as failed', async () => {
      plain.changes = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } };
      const cut = await client.ended((await client.create({ model: 'plain/m', input: 'Cut' })).body.id);
      assert.deepEqual([cut.status, cut.incomplete_details.reason], ['incomplete', 'max_output_tokens']);
      plain.changes = { status: 'failed', error: { code: 'invalid_prompt', message: 'No.' }, output: [] };
      const failed = await client.ended((await client.create({ model: 'plain/m', input: 'Bad' })).body.id);
      assert.deepEqual([failed.status, failed.error.code], ['failed', 'invalid_prompt']);
      const refused = await client.create({
        model: 'chat/m',
        input: [
          { type: 'file_search_call', id: 'x' },
          { role: 'user', content: [{ type: 'input_file', file_id: 'f' }] },
        ],
      });
      const told = await client.ended(refused.body.id);
      assert.deepEqual([told.status, told.error.code, told.id], ['failed', 'invalid_prompt', refused.body.id]);
    });

    test('usage and cost are recorded once, under the id of the request', async () => {
      const { body, headers } = await client.create({ model: 'plain/m', input: 'Count' });
      await client.ended(body.id);
      const id = headers.get('x-request-id') ?? '';
      assert.equal(`resp_${id.slice(4)}`, body.id);
      const url = `${gateway.url}/v1/generation?id=${id}`;
      // The record is written beside the response, and may come after it.
      const data = await client.when(
        async () => ((await (await fetch(url, { headers: client.headers })).json()) as Json).data,
      );
      assert.deepEqual([data.tokens_prompt, data.tokens_completion, data.total_cost], [3, 2, 0.000007]);
    });

    test('its record names the conversation and the program of the client', async () => {
      const headers = { 'x-litellm-session-id': 'one talk', 'user-agent': 'some-client/1' };
      const { body, headers: answered } = await client.create({ model: 'plain/m', input: 'Hello' }, headers);
      await client.ended(body.id);
      const url = `${gateway.url}/v1/self/requests/${answered.get('x-request-id')}`;
      const { session, trace } = await client.when(
        async () => ((await (await fetch(url, { headers: client.headers })).json()) as Json).data,
      );
      assert.deepEqual([session, trace.request_headers['user-agent']], ['one talk', 'some-client/1']);
    });

    describe('cancel', () => {
      test('ends the response and the request to the upstream, and is the same twice (checklist 112)', async () => {
        const callsBefore = endless.calls.length;
        const { body } = await client.create({ model: 'endless/m', input: 'Go on' });
        await client.until(body.id, ({ status }) => status === 'in_progress');
        const call = await client.when(() => endless.calls[callsBefore]);
        const cancelled = await client.request('POST', `${body.id}/cancel`);
        assert.deepEqual([cancelled.status, cancelled.body.status, cancelled.body.id], [200, 'cancelled', body.id]);
        assert.equal(await call.closed, 'aborted');
        assert.deepEqual(await client.request('POST', `${body.id}/cancel`).then((again) => again.body), cancelled.body);
        assert.equal((await client.request('GET', body.id)).body.status, 'cancelled');
        const id = `req_${body.id.slice(5)}`;
        await client.when(async () => {
          const found = await fetch(`${gateway.url}/v1/generation?id=${id}`, { headers: client.headers });
          return found.ok || undefined;
        });
      });

      test('of a response in the foreground, or one that has ended, is refused', async () => {
        const plainOne = await client.create({ model: 'plain/m', input: 'Now', background: false });
        const ended = await client.create({ model: 'plain/m', input: 'Later' });
        await client.ended(ended.body.id);
        for (const id of [plainOne.body.id, ended.body.id]) {
          const { status, body } = await client.request('POST', `${id}/cancel`);
          assert.deepEqual(
            [status, body.error.code, body.error.param],
            [400, 'invalid_request', 'response_id'],
            JSON.stringify(body),
          );
        }
      });

      test('a deleted response is not run on', async () => {
        const callsBefore = endless.calls.length;
        const { body } = await client.create({ model: 'endless/m', input: 'Go on' });
        await client.until(body.id, ({ status }) => status === 'in_progress');
        const call = await client.when(() => endless.calls[callsBefore]);
        assert.equal((await client.request('DELETE', body.id)).status, 200);
        assert.equal(await call.closed, 'aborted');
      });
    });

    describe('what is refused', () => {
      test('other keys do not have the response', async () => {
        const { body } = await client.create({ model: 'plain/m', input: 'Mine' });
        const headers = { authorization: `Bearer ${OTHER}` };
        for (const [method, path] of [
          ['GET', body.id],
          ['POST', `${body.id}/cancel`],
          ['DELETE', body.id],
          ['POST', 'resp_none/cancel'],
        ] as const) {
          const { status, body: error } = await client.request(method, path, headers);
          assert.deepEqual([status, error.error.code], [404, null], `${method} ${path}`);
        }
        assert.equal((await client.ended(body.id)).status, 'completed');
      });

      test('more unfinished responses than a key may have', async () => {
        const ids: string[] = [];
        for (let index = 0; index < 4; index++) {
          const { status, body } = await client.create({ model: 'endless/m', input: 'Go on' });
          assert.equal(status, 200, JSON.stringify(body));
          ids.push(body.id);
        }
        const { status, body } = await client.create({ model: 'plain/m', input: 'One more' });
        assert.deepEqual([status, body.error.code], [429, 'rate_limit_exceeded']);
        assert.match(body.error.message, /4 unfinished background responses/);
        const other = await client.create({ model: 'plain/m', input: 'Mine' }, { authorization: `Bearer ${OTHER}` });
        for (const id of ids) await client.request('POST', `${id}/cancel`);
        const next = await client.create({ model: 'plain/m', input: 'Now' });
        for (const one of [next, other]) assert.equal(one.status, 200);
        await client.ended(next.body.id);
        await client.ended(other.body.id, { authorization: `Bearer ${OTHER}` });
      });

      test('requests that would be refused in the foreground, and those that could not be fetched', async () => {
        const cases: [Json, Record<string, string>, number, string][] = [
          [{ model: 'plain/none-such' }, {}, 404, 'model_not_found'],
          [{ previous_response_id: 'resp_none' }, {}, 400, 'previous_response_not_found'],
          [{ temperature: 3 }, {}, 400, 'invalid_request'],
          [{}, { authorization: `Bearer ${STORELESS}` }, 400, 'unsupported_parameter'],
          [{}, { authorization: `Bearer ${POOR}` }, 402, 'insufficient_quota'],
        ];
        for (const [change, headers, expected, code] of cases) {
          const { status, body } = await client.create({ model: 'plain/m', input: 'x', ...change }, headers);
          assert.equal(status, expected, JSON.stringify(body));
          if (code !== 'insufficient_quota' && code !== 'model_not_found') assert.equal(body.error.code, code);
        }
        assert.equal(plain.calls.length, 0);
      });

      test('a request is counted once, where it is run', async () => {
        const headers = { authorization: `Bearer ${SLOW}` };
        const { status, body } = await client.create({ model: 'plain/m', input: 'One' }, headers);
        assert.equal(status, 200, JSON.stringify(body));
        assert.equal((await client.ended(body.id, headers)).status, 'completed');
        assert.equal((await client.create({ model: 'plain/m', input: 'Two' }, headers)).status, 429);
      });
    });

    test('a response waits while a limit of its key is used up', async () => {
      const claims = Promise.withResolvers<void>();
      const single = await startTestGateway(
        `providers:
  plain: { type: open-responses, base_url: "${plain.url}/v1", models: [{ id: m }] }
`,
        {
          keys: [`{ name: single, key: ${SINGLE}, limits: { concurrent_requests: 1 } }`],
          wrapStore: (store) => ({
            ...store,
            call: (async (name: 'claimJobs', given: { kind: string }) => {
              if (name === 'claimJobs' && given.kind === 'response') await claims.promise;
              return store.call(name, given as never);
            }) as typeof store.call,
          }),
        },
      );
      const headers = { authorization: `Bearer ${SINGLE}` };
      const one = createBackgroundClient(() => single.url);
      plain.beforeEnd = () => permits.take();
      const accepted = [];
      for (const input of ['One', 'Two']) accepted.push((await one.create({ model: 'plain/m', input }, headers)).body);
      claims.resolve();
      await one.when(() => plain.calls.at(0));
      const statuses = await Promise.all(accepted.map(({ id }) => one.request('GET', id, headers)));
      assert.deepEqual(statuses.map(({ body }) => body.status).toSorted(), ['in_progress', 'queued']);
      const early = await one.create({ model: 'plain/m', input: 'Three' }, headers);
      assert.deepEqual([early.status, early.body.error.code], [429, 'rate_limit_exceeded']);
      permits.give();
      permits.give();
      for (const { id } of accepted) assert.equal((await one.ended(id, headers)).status, 'completed');
      assert.equal(plain.calls.length, 2);
      await single.close();
    });

    describe('memory for one request', () => {
      let small: TestGateway;
      let one: BackgroundClient;
      let reads: number;
      let accepted: Json[];

      /** The first of three runs, and is held up before its end. */
      beforeEach(async () => {
        const claims = Promise.withResolvers<void>();
        reads = 0;
        small = await startTestGateway(
          `server: { body_limit: 2MiB, body_memory: 4MiB }
providers: { plain: { type: open-responses, base_url: "${plain.url}/v1", models: [{ id: m }] } }`,
          {
            wrapStore: (store) => ({
              ...store,
              call: (async (name: 'claimJobs', given: { kind: string }) => {
                if (name === 'claimJobs' && given.kind === 'response') await claims.promise;
                if (String(name) === 'readBackgroundResponse') reads++;
                return store.call(name, given as never);
              }) as typeof store.call,
            }),
          },
        );
        one = createBackgroundClient(() => small.url);
        plain.beforeEnd = () => permits.take();
        accepted = [];
        for (const number of [1, 2, 3]) {
          const { status, body } = await one.create({ model: 'plain/m', input: `${number}${'x'.repeat(1_900_000)}` });
          assert.equal(status, 200, JSON.stringify(body));
          accepted.push(body);
        }
        claims.resolve();
        await one.when(() => plain.calls.at(0));
      });
      afterEach(() => small.close());

      test('others wait unread', async () => {
        await pause(1200);
        assert.equal(reads, 1);
        for (const _ of accepted) permits.give();
        for (const { id } of accepted) assert.equal((await one.ended(id)).status, 'completed');
        assert.deepEqual([reads, plain.calls.length], [3, 3]);
      });

      test('a cancelled one is returned when there is memory for it again', async () => {
        const [first, second] = accepted;
        assert.equal((await one.request('POST', `${second.id}/cancel`)).status, 503);
        permits.give();
        permits.give();
        await one.when(async () => (await one.request('GET', first.id)).body.status === 'completed' || undefined);
        const cancelled = await one.when(async () => {
          const { status, body } = await one.request('POST', `${second.id}/cancel`);
          return status === 200 ? body : undefined;
        });
        assert.equal(cancelled.status, 'cancelled');
        assert.equal((await one.ended(accepted[2].id)).status, 'completed');
        assert.equal(plain.calls.length, 2);
      });
    });

    test('what a translation drops is named with the response, as that of other requests is', async () => {
      const body = { model: 'messages/m', input: 'Hi', text: { verbosity: 'low' } };
      const plainly = await post(`${gateway.url}/v1/responses`, body, HEADERS.chat);
      const names = plainly.headers.get('x-polygate-dropped');
      assert.ok(names);
      for (const stream of [false, true]) {
        const accepted = await post(`${gateway.url}/v1/responses`, { ...body, background: true, stream }, HEADERS.chat);
        const id = /resp_\w+/.exec(await accepted.text())?.[0] ?? assert.fail();
        await client.ended(id);
        const read = await client.request('GET', id);
        assert.equal(read.headers.get('x-polygate-dropped'), names);
        const replayed = await fetch(`${second.url}/v1/responses/${id}?stream=true`, { headers: HEADERS.chat });
        assert.equal(replayed.headers.get('x-polygate-dropped'), names);
        await replayed.text();
      }
    });

    test('a stream that waits keeps no memory from other requests of its key', async () => {
      const small = await startTestGateway(
        `server: { body_limit: 2MiB, body_memory: 4MiB }
providers: { plain: { type: open-responses, base_url: "${plain.url}/v1", models: [{ id: m }] } }`,
        {
          wrapStore: (store) => ({
            ...store,
            call: (async (name: 'claimJobs', given: { kind: string }) =>
              name === 'claimJobs' && given.kind === 'response'
                ? { jobs: [] }
                : store.call(name, given as never)) as typeof store.call,
          }),
        },
      );
      const ask = (signal?: AbortSignal) =>
        fetch(`${small.url}/v1/responses`, {
          method: 'POST',
          headers: { ...HEADERS.chat, 'content-type': 'application/json' },
          body: JSON.stringify({
            ...{ model: 'plain/m', input: 'Hi', instructions: 'x'.repeat(1_500_000) },
            ...{ background: true, stream: true },
          }),
          ...(signal && { signal }),
        });
      const waiting = new AbortController();
      for (let stream = 0; stream < 8; stream++) assert.equal((await ask(waiting.signal)).status, 200);
      waiting.abort();
      await small.close();
    });

    test('streams end whose events are large for the memory, one that runs and several of the same response', async () => {
      const small = await startTestGateway(`server: { body_limit: 2MiB, body_memory: 4MiB }
providers: { plain: { type: open-responses, base_url: "${plain.url}/v1", models: [{ id: m }] } }`);
      plain.beforeEnd = undefined;
      const headers = { ...HEADERS.chat, 'content-type': 'application/json' };
      const signal = AbortSignal.timeout(30_000);
      for (const [characters, replays] of [
        [1_500_000, 2],
        [400_000, 5],
      ] as const) {
        const body = JSON.stringify({
          ...{ model: 'plain/m', input: 'Hi', instructions: 'x'.repeat(characters) },
          ...{ background: true, stream: true, store: true },
        });
        const created = await fetch(`${small.url}/v1/responses`, { method: 'POST', headers, body, signal });
        const text = await created.text();
        assert.match(text, /event: response.completed/);
        const [id] = /resp_\w+/.exec(text) ?? assert.fail();
        const read = async () => {
          const replay = await fetch(`${small.url}/v1/responses/${id}?stream=true`, { headers: HEADERS.chat, signal });
          return replay.status === 503 ? undefined : replay.text();
        };
        const texts = await Promise.all(Array.from({ length: replays }, read));
        assert.ok(texts.some((one) => one !== undefined));
        for (const one of texts) if (one !== undefined) assert.match(one, /event: response.completed/);
      }
      await small.close();
    });

    test('a response whose content is larger than all memory is cancelled, and returned when it has ended', async () => {
      const small = await startTestGateway(`server: { body_limit: 2MiB, body_memory: 3MiB }
providers: { plain: { type: open-responses, base_url: "${plain.url}/v1", models: [{ id: m }] } }`);
      const one = createBackgroundClient(() => small.url);
      plain.beforeEnd = () => permits.take();
      // They stand in the response and in its request.
      const instructions = 'x'.repeat(1_900_000);
      const { status, body } = await one.create({ model: 'plain/m', input: 'Hello', instructions });
      assert.equal(status, 200);
      await one.when(() => plain.calls.at(0));
      for (const [method, path] of [
        ['POST', `${body.id}/cancel`],
        ['GET', body.id],
      ] as const) {
        const cancelled = await one.when(async () => {
          const answer = await one.request(method, path);
          return answer.status === 503 ? undefined : answer;
        });
        assert.deepEqual([cancelled.status, cancelled.body.status], [200, 'cancelled']);
        assert.equal(cancelled.body.instructions, instructions);
      }
      await small.close();
    });

    /** A gateway with memory for one request, in which a request in the foreground is held up. Background jobs wait for `claims`. */
    async function startFull(
      context: TestContext,
      { responses = '', claims, postgres, onCalled }: FullGatewayOptions,
    ): Promise<BackgroundClient & { accept(): Promise<Json>; fill(): Promise<void> }> {
      const full = await startTestGateway(
        `server: { body_limit: 2MiB, body_memory: 3MiB }
encryption: { key: "${Buffer.alloc(32, 7).toString('base64')}" }
responses: { ${responses} }
providers: { plain: { type: open-responses, base_url: "${plain.url}/v1", models: [{ id: m }] } }`,
        {
          ...(postgres && { postgres: postgres.url }),
          wrapStore: (store) => ({
            ...store,
            call: (async (name: 'claimJobs', given: never) => {
              const isClaim = name === 'claimJobs' && (given as { kind: string }).kind === 'response';
              if (isClaim) await claims;
              const result = await store.call(name, given);
              await onCalled?.(isClaim ? 'claim' : name, given, result, store);
              return result;
            }) as typeof store.call,
          }),
        },
      );
      context.after(() => full.close());
      const one = createBackgroundClient(() => full.url);
      return {
        ...one,
        async accept() {
          const { status, body } = await one.create({ model: 'plain/m', input: 'x'.repeat(1_900_000) });
          assert.equal(status, 200, JSON.stringify(body));
          return body;
        },
        async fill() {
          plain.beforeEnd = () => permits.take();
          const input = 'y'.repeat(1_900_000);
          void one.create({ model: 'plain/m', input, background: false }).catch(() => undefined);
          await one.when(() => plain.calls.at(0));
        },
      };
    }

    test('responses for which there is no memory fail at their time, and those that were begun before at once', async (context) => {
      const claims = Promise.withResolvers<void>();
      const failed: string[] = [];
      let begun: string | undefined;
      const one = await startFull(context, {
        responses: 'background_timeout: 6s',
        claims: claims.promise,
        async onCalled(name, given, result, store) {
          if (name === 'changeStoredResponse') failed.push((given as Json).response.row);
          const [job] = name === 'claim' ? (result as { jobs: Json[] }).jobs : [];
          if (!job || begun) return;
          // As a gateway that was killed has left it.
          begun = job.ref;
          await store.call('startBackgroundResponse', { row: job.ref, job: job as Lease });
        },
      });
      const accepted = [await one.accept(), await one.accept()];
      await one.fill();
      claims.resolve();
      await one.when(() => failed.at(1));
      assert.equal(failed[0], begun);
      permits.give();
      const ended = [];
      for (const { id } of accepted) ended.push(await one.ended(id));
      const messages = ended.map(({ error }) => error.message).toSorted();
      assert.match(messages[0], /was stopped while the response was made/);
      assert.match(messages[1], /could not begin within its time/);
      assert.equal(plain.calls.length, 1);
    });

    test('a response whose start was stored runs, also where the answer of the store was lost', async () => {
      let lost = 0;
      const one = await startTestGateway(
        `providers: { plain: { type: open-responses, base_url: "${plain.url}/v1", models: [{ id: m }] } }`,
        {
          wrapStore: (store) => ({
            ...store,
            call: (async (name: 'startBackgroundResponse', given: never) => {
              const result = await store.call(name, given);
              if (name === 'startBackgroundResponse' && lost++ === 0) throw new StoreUnavailable('lost at COMMIT');
              return result;
            }) as typeof store.call,
          }),
        },
      );
      const own = createBackgroundClient(() => one.url);
      const { body } = await own.create({ model: 'plain/m', input: 'Hello' });
      const ended = await own.ended(body.id);
      assert.deepEqual([ended.status, lost, plain.calls.length], ['completed', 2, 1], JSON.stringify(ended.error));
      await one.close();
    });

    test('a response that does not end fails at its time', async () => {
      const impatient = await startTestGateway(`
responses: { background_timeout: 1s }
providers:
  endless: { type: open-responses, base_url: "${endless.url}/v1", models: [{ id: m }] }
`);
      const one = createBackgroundClient(() => impatient.url);
      const { body } = await one.create({ model: 'endless/m', input: 'Go on' });
      const ended = await one.ended(body.id);
      assert.deepEqual([ended.status, ended.error.code, ended.id], ['failed', 'server_error', body.id]);
      await impatient.close();
    });

    test('a stop of the gateway fails what runs too long for it', async () => {
      // On a database of its own, where no other gateway takes the response.
      const own = database && (await providePostgres());
      const start = () =>
        startTestGateway(
          `encryption: { key: "${Buffer.alloc(32, 7).toString('base64')}" }
providers:
  endless: { type: open-responses, base_url: "${endless.url}/v1", models: [{ id: m }] }
`,
          own && { postgres: own.url },
        );
      const stopped = await start();
      const one = createBackgroundClient(() => stopped.url);
      const { body } = await one.create({ model: 'endless/m', input: 'Go on' });
      await one.until(body.id, ({ status }) => status === 'in_progress');
      await stopped.stop(0);
      if (!own) return;
      const after = await start();
      assert.equal((await createBackgroundClient(() => after.url).ended(body.id)).status, 'failed');
      await after.close();
      await own.close();
    });

    if (engine === 'postgres') {
      test('a response for which a gateway has no memory is run by another', async (context) => {
        const own = await providePostgres();
        const isFull = Promise.withResolvers<void>();
        const mayClaim = Promise.withResolvers<void>();
        let returns = 0;
        const full = await startFull(context, {
          claims: isFull.promise,
          postgres: own,
          async onCalled(name) {
            if (name !== 'returnJob') return;
            returns++;
            mayClaim.resolve();
          },
        });
        const free = await startFull(context, { claims: mayClaim.promise, postgres: own });
        context.after(() => own.close());
        const { id } = await full.accept();
        await full.fill();
        isFull.resolve();
        const call = await free.when(() => plain.calls.at(1));
        assert.equal(call.body.input.at(-1).content[0].text.length, 1_900_000);
        assert.ok(returns > 0 && returns < 40, String(returns));
        for (let index = 0; index < 2; index++) permits.give();
        assert.equal((await free.ended(id)).status, 'completed');
      });

      test('several gateways on one database share the responses, and each is run once', async () => {
        const beside = createBackgroundClient(() => second.url);
        plain.beforeEnd = () => permits.take();
        const accepted = await Promise.all(
          [client, beside, client, beside].map((one, index) =>
            one.create({ model: 'plain/m', input: `Task ${index}` }),
          ),
        );
        await client.when(() => (plain.calls.length >= 4 ? true : undefined));
        const [first] = accepted;
        const cancelled = await beside.request('POST', `${first?.body.id}/cancel`);
        assert.equal(cancelled.body.status, 'cancelled');
        for (let index = 0; index < 4; index++) permits.give();
        for (const [index, { body }] of accepted.entries()) {
          const ended = await (index % 2 === 0 ? beside : client).ended(body.id);
          assert.equal(ended.status, index === 0 ? 'cancelled' : 'completed');
        }
        assert.equal(plain.calls.length, 4);
      });
    }
  }),
);
