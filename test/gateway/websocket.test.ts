/** The Responses protocol over a WebSocket: requests one after the other, continued from the memory of the connection. */

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { deltaOf, eventsOf, FAILED, frame, MESSAGE, preambleOf, streamOf, USAGE } from '../protocols/responses-wire.ts';
import {
  type Answerer,
  answerEvents,
  answerJson,
  createPermits,
  HEADERS,
  KEY,
  post,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
  type UpstreamCall,
} from './harness.ts';
import { connect, type TestSocket } from './websocket-client.ts';

const KEYS = {
  other: 'sk-other-0123456789abcdef0123',
  poor: 'sk-poor-0123456789abcdef01234',
  slow: 'sk-slow-0123456789abcdef01234',
  chat: 'sk-chat-0123456789abcdef01234',
};
const MODEL = 'one/m-2026';

let upstream: TestUpstream;
let gateway: TestGateway;
let answer: Answerer;
/** Responses of the test so far. Each has an id of its own: those of the key are stored. */
let count = 0;
let earlier = 0;

before(async () => {
  upstream = await startUpstream((call, response) => answer(call, response));
  gateway = await startTestGateway(
    `
providers:
  chatty: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m }] }
  two: { type: openai, api_key: k, base_url: "${upstream.url}/v1", models: [{ id: m-2026 }] }
  one: { type: open-responses, base_url: "${upstream.url}/v1", models: [{ id: m-2026, pricing: { prompt: "0.1", completion: "1" } }] }
`,
    {
      keys: [
        `{ name: other, key: ${KEYS.other} }`,
        `{ name: poor, key: ${KEYS.poor}, budgets: { day: "1030" } }`,
        `{ name: slow, key: ${KEYS.slow}, limits: { requests_per_minute: 1 } }`,
        `{ name: chat, key: ${KEYS.chat}, surfaces: [chat] }`,
      ],
    },
  );
});
after(async () => {
  await gateway.close();
  await upstream.close();
});
beforeEach(() => {
  upstream.calls.length = 0;
  earlier += count;
  count = 0;
  answer = (_call, response) => {
    count += 1;
    answerEvents(response, streamOf('Hello', { id: idOf(count) }));
  };
});

const withKey = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
/** Id of a response of the test, from 1 on. */
const idOf = (number: number): string => `resp_${earlier + number}`;
/** A text as the gateway sends it again. */
const said = (text: string): Json => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] });
const user = (content: string): Json => ({ type: 'message', role: 'user', content });
const lastInput = (): Json => upstream.calls.at(-1)?.body.input;

async function withSocket(work: (socket: TestSocket) => Promise<void>, key = KEY): Promise<void> {
  const socket = await connect(gateway.url, withKey(key));
  try {
    await work(socket);
  } finally {
    await socket.close();
  }
}

describe('the cases of Open Responses (checklist 107)', () => {
  test('a response: the events of a stream without its framing', () =>
    withSocket(async (socket) => {
      socket.send({ type: 'response.create', model: MODEL, input: 'Count.', stream: true, metadata: { a: 'b' } });
      const messages = await socket.response();
      const sent = eventsOf('Hello', { id: idOf(1) }).map(({ type }) => type);
      assert.deepEqual(
        messages.map(({ type }) => type),
        sent,
      );
      assert.deepEqual(
        messages.map(({ sequence_number }) => sequence_number),
        [...sent.keys()],
      );
      assert.equal(messages.at(-1).response.model, MODEL);
      const body = { model: 'm-2026', input: 'Count.', stream: true, metadata: { a: 'b' } };
      assert.deepEqual(upstream.calls[0]?.body, body);
    }));

  test('sequential responses on one connection', () =>
    withSocket(async (socket) => {
      for (const id of [1, 2, 3].map(idOf)) {
        const { type, response } = await socket.ask({ model: MODEL, input: id, store: false });
        assert.deepEqual([type, response.id], ['response.completed', id]);
        assert.equal(lastInput(), id);
      }
    }));

  test('a continuation of store: false sends only what is new', () =>
    withSocket(async (socket) => {
      const first = await socket.ask({ model: MODEL, input: 'Remember: cobalt.', store: false, instructions: 'Old.' });
      const ask = { model: MODEL, input: [user('Which word?')], store: false, previous_response_id: first.response.id };
      const second = await socket.ask(ask);
      assert.equal(second.type, 'response.completed');
      assert.equal(second.response.previous_response_id, idOf(1));
      const { instructions, previous_response_id: sent } = upstream.calls[1]?.body ?? {};
      assert.deepEqual([instructions, sent], [undefined, undefined]);
      const [question, reasoning, message, next] = lastInput();
      assert.deepEqual([question, next], [said('Remember: cobalt.'), user('Which word?')]);
      assert.deepEqual([reasoning.encrypted_content, message.content[0].text], ['sealed-by-upstream', 'Hello']);
      await socket.ask({ ...ask, previous_response_id: idOf(2), input: 'And now?' });
      assert.equal(lastInput().length, 7);
    }));

  test('after a reconnection nothing of store: false is left, and a new response recovers', async () => {
    await withSocket(async (socket) => void (await socket.ask({ model: MODEL, input: 'copper', store: false })));
    await withSocket(async (socket) => {
      const lost = await socket.ask({ model: MODEL, input: 'more', store: false, previous_response_id: idOf(1) });
      assert.deepEqual([lost.status, lost.error.code], [400, 'previous_response_not_found']);
      assert.equal((await socket.ask({ model: MODEL, input: 'again', store: false })).type, 'response.completed');
    });
    assert.equal(upstream.calls.length, 2);
  });

  test('an unknown previous response, as one error with the status of HTTP', () =>
    withSocket(async (socket) => {
      const { headers, ...refusal } = await socket.ask({ model: MODEL, input: 'Hi', previous_response_id: 'resp_x' });
      assert.deepEqual(refusal, {
        type: 'error',
        status: 400,
        error: {
          type: 'invalid_request_error',
          code: 'previous_response_not_found',
          message: "Previous response with id 'resp_x' not found.",
          param: 'previous_response_id',
        },
      });
      assert.match(headers['x-request-id'], /^req_/);
    }));

  test('a failed continuation evicts what it continued', () =>
    withSocket(async (socket) => {
      await socket.ask({ model: MODEL, input: 'ember', store: false });
      const orphan = { type: 'function_call_output', call_id: 'call_missing', output: 'nothing' };
      const ask = { model: MODEL, store: false, previous_response_id: idOf(1) };
      const failed = await socket.ask({ ...ask, input: [orphan] });
      assert.deepEqual([failed.status, failed.error.param], [400, 'input[0].call_id']);
      assert.equal((await socket.ask({ ...ask, input: 'stale' })).error.code, 'previous_response_not_found');
      assert.equal(upstream.calls.length, 1);
    }));

  test('compacted items begin a new chain as they are', () =>
    withSocket(async (socket) => {
      const compacted = [user('slate'), { type: 'compaction', id: 'cmp_1', encrypted_content: 'opaque' }];
      const { type } = await socket.ask({
        model: MODEL,
        input: [...compacted, user('Go on.')],
        store: false,
        tools: [],
      });
      assert.equal(type, 'response.completed');
      assert.deepEqual(lastInput(), [...compacted, user('Go on.')]);
    }));
});

describe('what a connection remembers', () => {
  test('a response of the upstream that fails evicts too, and one that is cut off', async () => {
    const failures = [[...preambleOf(), FAILED].map(frame).join(''), eventsOf('He').slice(0, 8).map(frame).join('')];
    for (const failure of failures) {
      await withSocket(async (socket) => {
        const ask = { model: MODEL, store: false, previous_response_id: idOf(1) };
        const first = await socket.ask({ ...ask, input: 'Hi', previous_response_id: null });
        ask.previous_response_id = first.response.id;
        const answering = answer;
        answer = (_call, response) => answerEvents(response, failure);
        assert.match((await socket.ask({ ...ask, input: 'more' })).type, /^(error|response\.failed)$/);
        answer = answering;
        assert.equal((await socket.ask({ ...ask, input: 'stale' })).error.code, 'previous_response_not_found');
      });
    }
  });

  test('calls are continued by their outputs alone, and reasoning without state is left out', () =>
    withSocket(async (socket) => {
      const call = {
        id: 'fc_1',
        type: 'function_call',
        call_id: 'call_1',
        name: 'f',
        arguments: '{}',
        status: 'completed',
      };
      const items = [{ id: 'rs_1', type: 'reasoning', summary: [] }, call, { ...call, id: 'fc_2', call_id: 'call_2' }];
      const events = [
        ...preambleOf({ id: 'resp_c' }),
        ...items.map((item, index) => ({ type: 'response.output_item.done', output_index: index, item })),
        {
          ...eventsOf('').at(-1),
          response: { ...preambleOf()[0]?.response, id: 'resp_c', status: 'completed', output: [] },
        },
      ];
      answer = (_call, response) => answerEvents(response, events.map(frame).join(''));
      await socket.ask({ model: MODEL, input: 'Call f.', store: false });
      const outputs = ['call_1', 'call_2'].map((id) => ({ type: 'function_call_output', call_id: id, output: 'done' }));
      const { type } = await socket.ask({ model: MODEL, input: outputs, store: false, previous_response_id: 'resp_c' });
      assert.equal(type, 'response.completed');
      const anonymous = items.slice(1).map(({ id: _, ...item }: Json) => item);
      assert.deepEqual(lastInput(), [said('Call f.'), ...anonymous, ...outputs]);
    }));

  test('the last response of each lane; events name the lane, and another lane can fork', () =>
    withSocket(async (socket) => {
      const lane = (stream_id: string, more: Json) =>
        socket.ask({ model: MODEL, input: stream_id, store: false, stream_id, ...more });
      socket.send({ type: 'response.create', model: MODEL, input: 'a', store: false, stream_id: 'a"' });
      for (const message of await socket.response()) assert.equal(message.stream_id, 'a"');
      await lane('b', {});
      assert.equal((await lane('c', { previous_response_id: idOf(1) })).response.id, idOf(3));
      assert.equal((await lane('a"', { previous_response_id: idOf(1) })).response.id, idOf(4));
      assert.equal((await lane('b', { previous_response_id: idOf(2) })).response.id, idOf(5));
      const gone = await lane('a"', { previous_response_id: idOf(1) });
      assert.deepEqual([gone.error.code, gone.stream_id], ['previous_response_not_found', 'a"']);
      assert.ok(!JSON.stringify(upstream.calls.map(({ body }) => body)).includes('stream_id'));
    }));

  test('nothing of what is stored: it goes on over HTTP, on another connection, and back', async () => {
    const ask = { model: MODEL, input: 'one' };
    await withSocket(async (socket) => void (await socket.ask(ask)));
    const over = { ...ask, input: 'two', previous_response_id: idOf(1), stream: true };
    const response = await post(`${gateway.url}/v1/responses`, over, HEADERS.chat);
    assert.match(await response.text(), /response\.completed/);
    await withSocket(async (socket) => {
      const { response } = await socket.ask({ ...ask, input: 'three', previous_response_id: idOf(2) });
      assert.equal(response.previous_response_id, idOf(2));
      const texts = lastInput().flatMap(({ role, content }: Json) =>
        role === 'user' ? (content[0].text ?? content) : [],
      );
      assert.deepEqual(texts, ['one', 'two', 'three']);
    });
  });

  test('what comes after a stored response, kept by the gateway or by its provider', () =>
    withSocket(async (socket) => {
      for (const model of [MODEL, 'two/m-2026']) {
        const first = await socket.ask({ model, input: 'stored' });
        const ask = { model, store: false };
        const second = await socket.ask({ ...ask, input: 'second', previous_response_id: first.response.id });
        const third = await socket.ask({ ...ask, input: 'third', previous_response_id: second.response.id });
        assert.equal(third.response.previous_response_id, second.response.id);
        const { previous_response_id: named, input } = upstream.calls.at(-1)?.body ?? {};
        const isKept = model !== MODEL;
        assert.equal(named, isKept ? first.response.id : undefined);
        const users = input.filter(({ role }: Json) => role === 'user').length;
        assert.deepEqual([users, input.length], isKept ? [2, 4] : [3, 7]);
      }
    }));

  test('a stored response names the one before as its stream did, also one that is not stored', () =>
    withSocket(async (socket) => {
      const root = await socket.ask({ model: MODEL, input: 'stored' });
      for (const previous of [undefined, root.response.id]) {
        const ask = { model: MODEL, input: 'unstored', store: false };
        const before = await socket.ask(previous === undefined ? ask : { ...ask, previous_response_id: previous });
        const last = await socket.ask({ model: MODEL, input: 'last', previous_response_id: before.response.id });
        assert.equal(last.response.previous_response_id, before.response.id);
        const read = await fetch(`${gateway.url}/v1/responses/${last.response.id}`, { headers: HEADERS.chat });
        assert.equal(((await read.json()) as Json).previous_response_id, before.response.id);
        const next = { model: MODEL, input: 'next', previous_response_id: last.response.id };
        assert.equal((await socket.ask(next)).response.previous_response_id, last.response.id);
      }
    }));

  test('numbers that JavaScript does not have stay as they are', () =>
    withSocket(async (socket) => {
      const text = `{"type":"response.create","model":"${MODEL}","store":false,"input":[{"type":"new","n":12345678901234567890}]}`;
      socket.send(text);
      await socket.response();
      await socket.ask({ model: MODEL, input: 'more', store: false, previous_response_id: idOf(1) });
      for (const { bytes } of upstream.calls) assert.ok(bytes.includes('"n":12345678901234567890'), bytes.toString());
    }));
});

test('a response of another key, and of another connection, is as an unknown one', () =>
  withSocket(async (socket) => {
    await socket.ask({ model: MODEL, input: 'mine', store: false });
    for (const key of [KEYS.other, KEY]) {
      await withSocket(async (other) => {
        const refusal = await other.ask({ model: MODEL, input: 'yours', previous_response_id: idOf(1) });
        assert.equal(refusal.error.message, `Previous response with id '${idOf(1)}' not found.`);
        assert.equal(refusal.error.code, 'previous_response_not_found');
      }, key);
    }
    assert.equal(upstream.calls.length, 1);
  }));

describe('each request counts as one over HTTP (checklist 107)', () => {
  const usage = async (key: string): Promise<Json> =>
    ((await (await fetch(`${gateway.url}/v1/usage`, { headers: withKey(key).headers })).json()) as Json).total;

  test('usage and cost are recorded for each', () =>
    withSocket(async (socket) => {
      const before = await usage(KEYS.other);
      for (const input of ['one', 'two']) await socket.ask({ model: MODEL, input });
      await socket.ask({ model: MODEL, input: 'three', previous_response_id: 'resp_x' });
      const after = await usage(KEYS.other);
      assert.equal(after.requests - before.requests, 2);
      assert.equal(Number(after.cost) - Number(before.cost), 2 * (USAGE.input_tokens * 0.1 + USAGE.output_tokens));
    }, KEYS.other));

  test('budgets hold, and shorten an answer', () =>
    withSocket(async (socket) => {
      const ask = { model: MODEL, input: 'Hi', store: false };
      assert.equal((await socket.ask(ask)).type, 'response.completed');
      const limit = upstream.calls[0]?.body.max_output_tokens;
      assert.ok(limit > 16 && limit <= 1030, String(limit));
      const refusal = await socket.ask(ask);
      assert.deepEqual([refusal.status, refusal.error.code], [402, 'insufficient_quota']);
      assert.equal(upstream.calls.length, 1);
    }, KEYS.poor));

  test('requests per minute hold, and the error says when to try again', () =>
    withSocket(async (socket) => {
      await socket.ask({ model: MODEL, input: 'one' });
      const refusal = await socket.ask({ model: MODEL, input: 'two' });
      assert.deepEqual([refusal.status, refusal.error.code], [429, 'rate_limit_exceeded']);
      assert.ok(Number(refusal.headers['retry-after']) > 0);
      assert.equal((await socket.ask({ model: MODEL, input: 'x', generate: false })).type, 'response.completed');
    }, KEYS.slow));

  test('models, errors of the upstream and fields are refused in words, and the connection goes on', () =>
    withSocket(async (socket) => {
      const refused: [body: Json, status: number, code: string, param: string | null][] = [
        [{ model: 'one/none', input: 'Hi' }, 404, 'model_not_found', 'model'],
        [{ input: 'Hi' }, 400, 'invalid_request', 'model'],
        [{ model: MODEL, input: 7 }, 400, 'invalid_request', 'input'],
        [{ model: MODEL, input: [{ role: 7 }] }, 400, 'invalid_request', 'input[0].role'],
        [{ model: MODEL, input: 'Hi', background: true }, 400, 'unsupported_parameter', 'background'],
        [{ model: MODEL, input: 'Hi', generate: 'no' }, 400, 'invalid_request', 'generate'],
        [{ model: MODEL, input: 'Hi', stream_id: 7 }, 400, 'invalid_request', 'stream_id'],
        [{ model: MODEL, input: 'Hi', Stream_ID: 'a' }, 400, 'invalid_request', 'Stream_ID'],
        [{ type: 'response.cancel' }, 400, 'invalid_request', 'type'],
        [{ type: null, model: MODEL, input: 'Hi' }, 400, 'invalid_request', 'type'],
      ];
      for (const [body, status, code, param] of refused) {
        const refusal = await socket.ask(body);
        assert.deepEqual([refusal.status, refusal.error.code, refusal.error.param], [status, code, param]);
      }
      for (const text of ['', '7', '[]', '{', 'null', '"text"']) {
        socket.send(text);
        assert.equal((await socket.next())?.error.code, 'invalid_request', text);
      }
      const own = { error: { message: 'Too long.', type: 'invalid_request_error', param: 'input', code: 'x' } };
      answer = (_call, response) => answerJson(response, own, 400);
      const { status, error } = await socket.ask({ model: MODEL, input: 'Hi' });
      assert.deepEqual([status, error], [400, own.error]);
    }));

  test('an answer cannot be steered', () =>
    withSocket(async (socket) => {
      const steer = { input: 'Stop.', previous_response_id: idOf(1) };
      const { error, ...event } = await socket.ask({ type: 'response.steer', ...steer });
      assert.deepEqual(event, { type: 'response.steer.failed', sequence_number: 0, steer });
      assert.equal(error.code, 'steering_not_supported');
    }));
});

describe('generate: false', () => {
  test('is answered without an upstream, and prepares the next request', () =>
    withSocket(async (socket) => {
      const tools = [{ type: 'function', name: 'f', parameters: { type: 'object' }, strict: false }];
      const prepared = { model: MODEL, instructions: 'Be brief.', tools, store: false, metadata: { a: 'b' } };
      socket.send({ type: 'response.create', ...prepared, input: [user('Context.')], generate: false, stream: true });
      const messages = await socket.response();
      assert.deepEqual(
        messages.map(({ type, sequence_number }) => [type, sequence_number]),
        [
          ['response.created', 0],
          ['response.in_progress', 1],
          ['response.completed', 2],
        ],
      );
      const [created, , { response }] = messages as [Json, Json, Json];
      assert.deepEqual([created.response.id, created.response.status], [response.id, 'in_progress']);
      assert.match(response.id, /^resp_[0-9a-f]{32}$/);
      assert.deepEqual([response.status, response.output, response.usage.total_tokens], ['completed', [], 0]);
      assert.deepEqual([response.model, response.instructions, response.metadata], [MODEL, 'Be brief.', { a: 'b' }]);
      assert.deepEqual(response.tools, [{ description: null, ...tools[0] }]);
      assert.equal(upstream.calls.length, 0);
      const ask = { ...prepared, input: [user('Hi')], previous_response_id: response.id };
      assert.equal((await socket.ask(ask)).type, 'response.completed');
      assert.deepEqual(lastInput(), [user('Context.'), user('Hi')]);
      assert.ok(!('generate' in (upstream.calls[0]?.body ?? {})));
    }));

  test('nothing is recorded or charged, and a model that is not there is refused', () =>
    withSocket(async (socket) => {
      const lines = gateway.log.length;
      await socket.ask({ model: MODEL, input: 'Hi', generate: false });
      const refusal = await socket.ask({ model: 'one/none', input: 'Hi', generate: false });
      assert.equal(refusal.error.code, 'model_not_found');
      assert.deepEqual(
        gateway.log.slice(lines).map(({ route }) => route),
        ['inference.complete', 'inference.complete'],
      );
      assert.equal(upstream.calls.length, 0);
    }));
});

describe('one request at a time', () => {
  test('those that come meanwhile wait, in order', () =>
    withSocket(async (socket) => {
      const permits = createPermits();
      let most = 0;
      let running = 0;
      answer = async (_call, response) => {
        most = Math.max(most, ++running);
        await permits.take();
        running -= 1;
        count += 1;
        answerEvents(response, streamOf('Hello', { id: idOf(count) }));
      };
      for (const input of ['one', 'two', 'three']) socket.send({ type: 'response.create', model: MODEL, input });
      for (const id of [1, 2, 3].map(idOf)) {
        permits.give();
        assert.equal((await socket.response()).at(-1)?.response.id, id);
      }
      assert.deepEqual(
        upstream.calls.map(({ body }) => body.input),
        ['one', 'two', 'three'],
      );
      assert.equal(most, 1);
    }));

  test('a client that leaves ends the request at hand, and none that waits is sent', async () => {
    answer = (_call, response) =>
      void response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .write(preambleOf().map(frame).join('') + frame(deltaOf('H', 2)));
    const socket = await connect(gateway.url);
    for (const input of ['one', 'two']) socket.send({ type: 'response.create', model: MODEL, input });
    await socket.next();
    socket.ws.terminate();
    const [call] = upstream.calls as [UpstreamCall];
    assert.equal(await call.closed, 'aborted');
    assert.equal(upstream.calls.length, 1);
  });
});

test('a model of another protocol answers, and what the connection remembers is translated', () =>
  withSocket(async (socket) => {
    const chunk = (delta: Json, finish: string | null) =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
    const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };
    answer = ({ body }, response) => {
      const isDone = body.messages.some(({ role }: Json) => role === 'tool');
      const [delta, finish] = isDone ? [{ content: 'Done.' }, 'stop'] : [{ tool_calls: [call] }, 'tool_calls'];
      answerEvents(response, `${chunk(delta, null)}${chunk({}, finish)}data: [DONE]\n\n`);
    };
    const tools = [{ type: 'function', name: 'f', parameters: { type: 'object', properties: {} }, strict: false }];
    const ask = { model: 'chatty/m', store: false, tools };
    const first = await socket.ask({ ...ask, input: 'Call f.', generate: false });
    const second = await socket.ask({ ...ask, input: [], previous_response_id: first.response.id });
    assert.equal(second.response.output[0].call_id, 'call_1');
    const output = { type: 'function_call_output', call_id: 'call_1', output: 'done' };
    const third = await socket.ask({ ...ask, input: [output], previous_response_id: second.response.id });
    assert.equal(third.response.output[0].content[0].text, 'Done.');
    assert.equal(third.response.previous_response_id, second.response.id);
    const { messages } = upstream.calls.at(-1)?.body ?? {};
    assert.deepEqual(
      messages.map(({ role }: Json) => role),
      ['user', 'assistant', 'tool'],
    );
  }));

test('headers of the upgrade request apply to each request, without what is meant for the WebSocket', async () => {
  const headers = {
    ...HEADERS.chat,
    'openai-beta': 'responses_websockets=2026-02-06, other=1',
    'session-id': 's1',
    originator: 'codex',
  };
  const socket = await connect(gateway.url, { headers });
  await socket.ask({ model: MODEL, input: 'Hi' });
  const sent = upstream.calls[0]?.headers ?? {};
  assert.deepEqual([sent['openai-beta'], sent['session-id'], sent.originator], ['other=1', 's1', 'codex']);
  assert.equal(sent.authorization, undefined);
  assert.equal(sent['sec-websocket-key'], undefined);
  await socket.close();
});

test('the first message has the headers that a response over HTTP has, with the names of dropped fields (checklist 108)', () =>
  withSocket(async (socket) => {
    const choice = { index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' };
    answer = (_call, response) => answerJson(response, { id: 'c', object: 'chat.completion', choices: [choice] });
    const body = { model: 'chatty/m', input: 'Hi', truncation: 'auto', store: false };
    const overHttp = await post(`${gateway.url}/v1/responses`, { ...body, stream: true }, HEADERS.chat);
    await overHttp.text();
    for (const stream_id of [undefined, 'lane']) {
      socket.send({ type: 'response.create', ...body, stream_id });
      const [first, ...others] = await socket.response();
      assert.deepEqual([first.type, first.stream_id], ['response.created', stream_id]);
      assert.equal(first.headers['x-polygate-dropped'], overHttp.headers.get('x-polygate-dropped'));
      assert.equal(first.headers['x-polygate-dropped'], 'truncation');
      assert.equal(first.headers['x-polygate-path'], 'translated');
      assert.match(first.headers['x-request-id'], /^req_/);
      const own = [...overHttp.headers.keys()].filter((name) => name.startsWith('x-polygate'));
      assert.deepEqual(
        Object.keys(first.headers)
          .filter((name) => name.startsWith('x-polygate'))
          .sort(),
        own.sort(),
      );
      assert.ok(others.length > 0 && others.every((message) => message.headers === undefined));
    }
  }));

test('an event without members has no place for headers', () =>
  withSocket(async (socket) => {
    answer = (_call, response) => answerEvents(response, `data: {}\n\ndata: { }\n\n${streamOf('Hi')}`);
    socket.send({ type: 'response.create', model: MODEL, input: 'Hi', stream_id: 'lane' });
    const [first] = await socket.response();
    assert.deepEqual([first.type, typeof first.headers], ['response.created', 'object']);
  }));

test('a comment of the stream is a ping, and [DONE] no message', () =>
  withSocket(async (socket) => {
    answer = (_call, response) => answerEvents(response, `: ping\n\n${streamOf('Hi')}data: [DONE]\n\n`);
    const pinged = new Promise((resolve) => socket.ws.once('ping', resolve));
    assert.equal((await socket.ask({ model: MODEL, input: 'Hi' })).response.output[1].content[0].text, 'Hi');
    await pinged;
    await socket.ask({ model: MODEL, input: 'Hi' });
    assert.equal(MESSAGE.type, 'message');
  }));
