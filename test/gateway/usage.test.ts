/** Every request that reached an upstream has a record, which says what it used and what that costs, however it ended. */

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { WIRES } from '../faults/wires.ts';
import { startPlain, startTls, testCa } from '../net/servers.ts';
import {
  answerEvents,
  answerJson,
  ask,
  type ProtocolId,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
  type UpstreamCall,
} from './harness.ts';
import { get, hear, recordOf } from './usage-client.ts';

const PROVIDERS: Record<ProtocolId, string> = { chat: 'a', messages: 'b', generate: 'c' };
const IDS = Object.keys(PROVIDERS) as ProtocolId[];
const OTHER = 'sk-test-somebody-else-0123456789';

/** 1 input and 2 output tokens, as the wires report them, at 1 and 10 USD a million. */
const COST = '0.000021';

/** Usage as the last words of a stream, where the wire's own tail has none. */
const TAILS: Record<ProtocolId, string> = {
  chat: WIRES.chat.tail.replace(
    'data: [DONE]',
    'data: {"id":"chatcmpl-1","choices":[],"model":"m","usage":{"prompt_tokens":1,"completion_tokens":2}}\n\ndata: [DONE]',
  ),
  messages: WIRES.messages.tail,
  generate: WIRES.generate.tail.replace(
    '"modelVersion"',
    '"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2},"modelVersion"',
  ),
};

const WITHOUT_USAGE: Record<ProtocolId, RegExp> = {
  chat: /,"usage":\{.*?\}/,
  messages: /,"usage":\{.*?\}/,
  generate: /,"usageMetadata":\{.*?\}/,
};

const EMPTY: Record<ProtocolId, object> = {
  chat: { choices: [{ index: 0, message: { role: 'assistant', content: '' }, finish_reason: null }] },
  messages: { content: [], stop_reason: null },
  generate: { candidates: [{ content: { role: 'model', parts: [] }, index: 0 }] },
};

const NOTHING: Record<ProtocolId, object> = {
  chat: { usage: { prompt_tokens: 5, completion_tokens: 0 } },
  messages: { usage: { input_tokens: 5, output_tokens: 0 } },
  generate: { usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 0 } },
};

const GARBLED: Record<string, object> = {
  garbled: { prompt_tokens: 'x', completion_tokens: 2 },
  inputless: { completion_tokens: 2 },
  countless: {},
};

let upstream: TestUpstream;
let gateway: TestGateway;

function protocolOf({ path }: UpstreamCall): ProtocolId {
  return IDS.find((name) => path.toLowerCase().includes(name)) ?? 'chat';
}

/** What the question asks for is what the upstream does. */
function behave(call: UpstreamCall, response: ServerResponse): unknown {
  const protocol = protocolOf(call);
  const wire = WIRES[protocol];
  const [, scene = ''] = /scene:(\w+)/.exec(call.bytes.toString()) ?? [];
  const stream = call.path.includes('stream') || call.body.stream === true;
  if (call.path.includes('count_tokens')) return answerJson(response, { input_tokens: 7 });
  switch (scene) {
    case 'down':
      return answerJson(response, wire.error('upstream'), 500);
    case 'full':
      if (call.path.startsWith('/full')) return answerJson(response, wire.error('overloaded'), 503);
      break;
    case 'empty':
      return answerJson(response, { ...wire.whole, ...EMPTY[protocol], ...NOTHING[protocol] });
    case 'silent':
      if (stream) return answerEvents(response, (wire.head + wire.tail).replaceAll(/,?"usage":\{[^}]*\}/g, ''));
      return answerJson(response, JSON.parse(JSON.stringify(wire.whole).replace(WITHOUT_USAGE[protocol], '')));
    case 'streamed':
      return answerEvents(response, wire.head + TAILS[protocol]);
    case 'closing':
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(wire.head + TAILS[protocol]);
      return setTimeout(() => response.destroy(), 20);
    case 'failing':
      return answerEvents(response, wire.head + wire.text(' words') + wire.errorEvent('upstream'));
    case 'nameless': {
      const call = { index: 0, id: 'call_1', type: 'function', function: { name: '', arguments: '{}' } };
      const choice = { index: 0, delta: { tool_calls: [call] }, finish_reason: 'tool_calls' };
      const chunk = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [choice] };
      return answerEvents(response, `${wire.head}data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
    }
    case 'whole':
      return answerJson(response, JSON.parse(JSON.stringify(wire.whole).replace(WITHOUT_USAGE[protocol], '')));
    case 'cut':
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(wire.head + wire.text(' words'));
      return setImmediate(() => response.destroy());
    case 'hang':
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(wire.head);
      return undefined;
    case 'open':
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(wire.head + TAILS[protocol]);
      return undefined;
    case 'unmarked':
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write((wire.head + wire.tail).replace('data: [DONE]\n\n', ''));
      return undefined;
    case 'wrong':
      return answerJson(response, { ...wire.whole, choices: [{ ...wire.whole.choices[0], finish_reason: 'error' }] });
    case 'garbled':
    case 'inputless':
    case 'countless': {
      const usage = { ...GARBLED[scene], cost: 0.25 };
      if (!stream) return answerJson(response, { ...wire.whole, usage });
      const last = `data: ${JSON.stringify({ id: 'chatcmpl-1', choices: [], model: 'm', usage })}\n\n`;
      return answerEvents(response, wire.head + wire.tail.replace('data: [DONE]', `${last}data: [DONE]`));
    }
    case 'dear':
      return answerJson(response, { ...wire.whole, usage: { ...wire.whole.usage, cost: 0.25 } });
  }
  return stream ? answerEvents(response, wire.head + TAILS[protocol]) : answerJson(response, wire.whole);
}

const MODEL = 'models: [{ id: m, pricing: { prompt: "0.000001", completion: "0.00001" } }]';

before(async () => {
  upstream = await startUpstream((call, response) => void behave(call, response));
  gateway = await startTestGateway(
    `
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", ${MODEL} }
  b: { type: anthropic, base_url: "${upstream.url}", api_key: k, ${MODEL} }
  c: { type: google, base_url: "${upstream.url}", api_key: k, ${MODEL} }
  full: { type: openai-compatible, base_url: "${upstream.url}/full", ${MODEL} }
  gone: { type: openai-compatible, base_url: "http://127.0.0.1:9/v1", ${MODEL} }
  free: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m }] }
models:
  house/both: { endpoints: [{ provider: full, model: m, priority: 1 }, { provider: a, model: m, priority: 2 }] }
`,
    { keys: [`{ name: other, key: ${OTHER} }`] },
  );
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

for (const protocol of IDS) {
  for (const target of IDS) {
    describe(`${protocol} from ${target}`, () => {
      const model = `${PROVIDERS[target]}/m`;
      const ours = { protocol, model };

      for (const stream of [false, true]) {
        test(`an answer ${stream ? 'that streams' : 'in one piece'}`, async () => {
          const { text, headers, trailers, id, status } = await hear(gateway.url, { ...ours, text: 'Hi', stream });
          assert.equal(status, 200, text);
          assert.equal(stream ? trailers['x-polygate-cost'] : headers['x-polygate-cost'], COST);
          assert.equal(headers.trailer, stream ? 'x-polygate-cost' : undefined);
          const details = ['inference', 'inference_prompt', 'inference_completions'].map(
            (name) => `"upstream_${name}_cost":([\\d.e-]+)`,
          );
          const shown = new RegExp(`"cost":([\\d.e-]+),"cost_details":\\{${details.join()}\\}`).exec(text);
          const costs = [Number(COST), Number(COST), 0.000001, 0.00002];
          assert.deepEqual(shown?.slice(1).map(Number), protocol === 'chat' ? costs : undefined);
          const record = await recordOf(gateway.url, id);
          assert.deepEqual(
            [record.status, record.finish_reason, record.tokens_prompt, record.tokens_completion, record.total_cost],
            ['completed', 'stop', 1, 2, Number(COST)],
          );
          assert.deepEqual(
            [record.streamed, record.cancelled, record.provider_name, record.model, record.attempts],
            [stream, false, PROVIDERS[target], model, 1],
          );
          assert.equal(record.tokens_estimated, false);
          assert.equal(record.upstream_id, { chat: 'chatcmpl-1', messages: 'msg_1', generate: 'r1' }[target]);
          assert.ok(record.latency >= 0 && record.generation_time >= 0);
        });
      }

      test('an error costs nothing', async () => {
        const { id, headers } = await hear(gateway.url, { ...ours, text: 'scene:down' });
        assert.equal(headers['x-polygate-cost'], undefined);
        const { status, error_code, total_cost, tokens_prompt } = await recordOf(gateway.url, id);
        assert.deepEqual([status, error_code, total_cost, tokens_prompt], ['failed', 'upstream_error', 0, 0]);
      });

      test('an empty answer without an end costs nothing', async () => {
        const { id } = await hear(gateway.url, { ...ours, text: 'scene:empty' });
        assert.equal((await recordOf(gateway.url, id)).total_cost, 0);
      });

      for (const stream of [false, true]) {
        test(`usage that is not reported is estimated, ${stream ? 'streamed' : 'whole'}`, async () => {
          const { id } = await hear(gateway.url, { ...ours, text: 'scene:silent', stream });
          const { status, tokens_estimated, tokens_prompt, tokens_completion, total_cost } = await recordOf(
            gateway.url,
            id,
          );
          assert.deepEqual([status, tokens_estimated], ['completed', true]);
          assert.ok(tokens_prompt > 0 && tokens_completion > 0 && total_cost > 0);
        });
      }

      for (const scene of ['streamed', 'closing'])
        test(`a stream where none was asked for is gathered (${scene})`, async () => {
          const { text, headers, id, status } = await hear(gateway.url, { ...ours, text: `scene:${scene}` });
          assert.equal(status, 200, text);
          assert.match(String(headers['content-type']), /^application\/json/);
          assert.match(text, /"(content|text)":"Hel"/);
          assert.equal(headers['x-polygate-cost'], COST);
          const record = await recordOf(gateway.url, id);
          assert.deepEqual(
            [record.status, record.finish_reason, record.tokens_prompt, record.tokens_completion, record.total_cost],
            ['completed', 'stop', 1, 2, Number(COST)],
          );
        });

      test('a stream where none was asked for, that fails, costs what came of it', async () => {
        const { id, status } = await hear(gateway.url, { ...ours, text: 'scene:failing' });
        assert.ok(status >= 500);
        const { status: ended, tokens_completion, total_cost } = await recordOf(gateway.url, id);
        assert.deepEqual([ended, tokens_completion > 0, total_cost > 0], ['failed', true, true]);
      });

      test('a whole answer where a stream was asked for is charged an estimate of what it does not report', async () => {
        const { id, status } = await hear(gateway.url, { ...ours, text: 'scene:whole', stream: true });
        assert.equal(status, 200);
        const record = await recordOf(gateway.url, id);
        assert.deepEqual([record.status, record.tokens_estimated], ['completed', true]);
        assert.ok(record.tokens_prompt > 0 && record.tokens_completion > 0 && record.total_cost > 0);
      });

      test('an answer that is cut costs what came of it', async () => {
        const { id } = await hear(gateway.url, { ...ours, text: 'scene:cut', stream: true });
        const record = await recordOf(gateway.url, id);
        assert.deepEqual([record.status, record.tokens_estimated], ['partial', true]);
        assert.ok(record.tokens_completion > 0 && record.total_cost > 0);
        assert.equal(record.finish_reason, null);
      });

      test('a client that leaves pays for what it heard', async () => {
        const leaving = new AbortController();
        const asked = { ...ours, text: 'scene:hang', stream: true, signal: leaving.signal };
        const response = await ask(gateway, asked);
        await response.body?.getReader().read();
        leaving.abort();
        const record = await recordOf(gateway.url, String(response.headers.get('x-polygate-generation-id')));
        assert.deepEqual([record.status, record.cancelled, record.tokens_estimated], ['cancelled', true, true]);
        assert.ok(record.tokens_prompt > 0);
      });

      test('an upstream that never closes its response is not waited for', async () => {
        const begun = performance.now();
        const { text, id } = await hear(gateway.url, { ...ours, text: 'scene:open', stream: true });
        assert.ok(performance.now() - begun < 10_000);
        assert.match(text, protocol === 'chat' ? /\[DONE\]/ : /stop/i);
        const record = await recordOf(gateway.url, id);
        assert.deepEqual([record.status, record.total_cost], ['completed', Number(COST)]);
      });
    });
  }
}

test('a stream where none was asked for, with a call that no client can be told, is an error', async () => {
  const { status, text } = await hear(gateway.url, { protocol: 'messages', model: 'a/m', text: 'scene:nameless' });
  assert.ok(status >= 500, text);
});

test('a stream where none was asked for, that is left open without an end mark, is not waited for', async () => {
  const begun = performance.now();
  const { status, text } = await hear(gateway.url, { protocol: 'messages', model: 'a/m', text: 'scene:unmarked' });
  assert.equal(status, 200, text);
  assert.ok(performance.now() - begun < 10_000);
});

test('who answers is paid, and the failures before are counted', async () => {
  const { id } = await hear(gateway.url, { protocol: 'chat', model: 'house/both', text: 'scene:full' });
  const record = await recordOf(gateway.url, id);
  assert.deepEqual(
    [record.status, record.provider_name, record.requested_model, record.attempts, record.total_cost],
    ['completed', 'a', 'house/both', 2, Number(COST)],
  );
});

test('an answer that ended in an error costs nothing, whatever its length', async () => {
  const { id, status } = await hear(gateway.url, { protocol: 'chat', model: 'a/m', text: 'scene:wrong' });
  const { total_cost, tokens_completion } = await recordOf(gateway.url, id);
  assert.deepEqual([status, total_cost], [200, 0]);
  assert.ok(tokens_completion > 0);
});

test('what never reached an upstream leaves no record', async () => {
  const { status, id } = await hear(gateway.url, { protocol: 'chat', model: 'gone/m', text: 'Hi' });
  assert.equal(status, 502);
  assert.equal((await get(gateway.url, `/v1/generation?id=${id}`)).status, 404);
  assert.equal((await get(gateway.url, '/v1/generation?id=a%00b')).status, 404);
});

test('a request that met the end of a kept connection, and could not be sent again, costs nothing', async (context) => {
  setDefaultCACertificates([...getCACertificates('default'), testCa]);
  const answer = JSON.stringify(WIRES.chat.whole);
  let requests = 0;
  const server = await startTls((socket) => {
    socket.on('data', () => {
      if (++requests > 1) socket.end();
      else socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${answer.length}\r\n\r\n${answer}`);
    });
  });
  context.after(() => server.close());
  // A connection after the first is accepted, and its handshake never ends.
  let connections = 0;
  const front = await startPlain((socket) => {
    if (++connections === 1) socket.pipe(connect(server.port, '127.0.0.1')).pipe(socket);
  });
  context.after(() => front.close());
  const gateway = await startTestGateway(`
server: { deadlines: { connect: 1s } }
providers: { ends: { type: openai-compatible, base_url: "https://localhost:${front.port}/v1", ${MODEL} } }
`);
  context.after(() => gateway.close());
  assert.equal((await hear(gateway.url, { protocol: 'chat', model: 'ends/m', text: 'Hi' })).status, 200);
  await wait(1100);
  const { status, id } = await hear(gateway.url, { protocol: 'chat', model: 'ends/m', text: 'Hi' });
  assert.deepEqual([status, requests, connections], [504, 2, 2]);
  const { total_cost, tokens_prompt } = await recordOf(gateway.url, id);
  assert.deepEqual([total_cost, tokens_prompt], [0, 0]);
});

test('without prices the upstream is believed, and nothing is said where it says nothing', async () => {
  const silent = await hear(gateway.url, { protocol: 'chat', model: 'free/m', text: 'Hi' });
  assert.equal(silent.headers['x-polygate-cost'], undefined);
  assert.ok(!silent.text.includes('"cost"'));
  const said = await hear(gateway.url, { protocol: 'chat', model: 'free/m', text: 'scene:dear' });
  assert.equal(said.headers['x-polygate-cost'], '0.25');
  assert.equal((await recordOf(gateway.url, said.id)).total_cost, 0.25);
  const priced = await hear(gateway.url, { protocol: 'chat', model: 'a/m', text: 'scene:dear' });
  assert.equal(priced.headers['x-polygate-cost'], COST);
  assert.equal(JSON.parse(priced.text).usage.cost, Number(COST));
});

for (const scene of Object.keys(GARBLED))
  for (const stream of [false, true])
    test(`the cost of a usage without valid counts (${scene}) is the one that is charged, ${stream ? 'streamed' : 'whole'}`, async () => {
      const { text, id } = await hear(gateway.url, { protocol: 'chat', model: 'a/m', text: `scene:${scene}`, stream });
      const { total_cost, tokens_estimated } = await recordOf(gateway.url, id);
      assert.equal(tokens_estimated, true);
      assert.ok(total_cost > 0 && total_cost < 0.001);
      assert.equal(Number(/"cost":([\d.e-]+)/.exec(text)?.[1]), total_cost);
    });

test('counting tokens is recorded where an upstream does it, and free', async () => {
  const headers = { 'x-api-key': 'sk-test-gateway-key-0123456789', 'anthropic-version': '2023-06-01' };
  const response = await fetch(`${gateway.url}/anthropic/v1/messages/count_tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'b/m', messages: [{ role: 'user', content: 'Hi' }] }),
  });
  assert.deepEqual(await response.json(), { input_tokens: 7 });
  const record = await recordOf(gateway.url, String(response.headers.get('x-polygate-request-id')));
  assert.deepEqual([record.total_cost, record.tokens_prompt], [0, 0]);
});

test('HTTP without trailers gets the same answer without them', async () => {
  const { connect } = await import('node:net');
  const body = JSON.stringify({ model: 'a/m', stream: true, messages: [{ role: 'user', content: 'Hi' }] });
  const head = [
    'POST /v1/chat/completions HTTP/1.0',
    'authorization: Bearer sk-test-gateway-key-0123456789',
    'content-type: application/json',
    `content-length: ${body.length}`,
  ];
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  let text = '';
  for await (const chunk of socket) text += chunk;
  assert.match(text, /\[DONE\]\n\n$/);
  assert.ok(!/trailer/i.test(text));
});

describe('what the holder of a key sees', () => {
  test('sums of its own use, by whatever it asks for', async () => {
    const mine = await get(gateway.url, '/v1/usage?by=provider,model');
    assert.equal(mine.status, 200);
    assert.deepEqual(mine.body.by, ['provider', 'model']);
    const a = mine.body.data.find(({ model }: { model: string }) => model === 'a/m');
    assert.equal(a.provider, 'a');
    assert.ok(a.requests > 10 && a.failures === 7);
    assert.match(a.cost, /^\d+\.\d+$/);
    assert.equal(
      mine.body.data.reduce((sum: number, row: { requests: number }) => sum + row.requests, 0),
      mine.body.total.requests,
    );
    const theirs = await get(gateway.url, '/v1/usage', OTHER);
    assert.deepEqual([theirs.body.data, theirs.body.total.requests, theirs.body.total.cost], [[], 0, '0']);
  });

  test('by the day and the hour', async () => {
    const day = new Date().toISOString().slice(0, 10);
    const { body } = await get(gateway.url, `/v1/usage?from=${day}&by=day,hour`);
    assert.equal(body.data.at(-1).day, day);
    assert.match(body.data.at(-1).hour, /T\d\d:00:00.000Z$/);
  });

  for (const [query, param] of [
    ['by=moon', 'by'],
    ['by=key', 'by'],
    ['from=yesterday', 'from'],
    ['from=2026-02-30', 'from'],
    ['to=2026-99-99', 'to'],
    ['from=2026-11-02&to=2026-11-01', 'from'],
    ['from=2020-01-01&by=hour', 'from'],
  ]) {
    test(`${query} is refused`, async () => {
      const { status, body } = await get(gateway.url, `/v1/usage?${query}`);
      assert.deepEqual([status, body.error.param], [400, param]);
    });
  }

  test('nothing of what others asked', async () => {
    const { id } = await hear(gateway.url, { protocol: 'chat', model: 'a/m', text: 'Hi' });
    assert.equal((await get(gateway.url, `/v1/generation?id=${id}`, OTHER)).status, 404);
    assert.equal((await get(gateway.url, '/v1/generation?id=chatcmpl-1')).body.data.upstream_id, 'chatcmpl-1');
    assert.equal((await get(gateway.url, '/v1/generation')).body.error.param, 'id');
    assert.equal((await get(gateway.url, '/v1/generation', 'sk-unknown')).status, 401);
  });

  test('facts of the key itself', async () => {
    const { body } = await get(gateway.url, '/v1/key');
    assert.equal(body.data.name, 'test');
    assert.equal(body.data.limit, null);
    assert.ok(body.data.usage > 0 && body.data.usage === body.data.usage_daily);
  });
});
