/** Same protocol on both sides: the upstream's bytes, but for the model's name. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  answerEvents,
  answerJson,
  ask,
  HEADERS,
  KEY,
  PATHS,
  type ProtocolId,
  post,
  question,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';

/** Bodies with white space, odd numbers and fields nobody knows, so that any re-serialising shows. */
const WHOLE: Record<ProtocolId, string> = {
  chat: '{"id": "chatcmpl-1",  "object":"chat.completion","created":1,"model":"m-2026","choices":[{"index":0,"message":{"role":"assistant","content":"caf\\u00e9 \\"model\\":\\"x\\"","brand_new":{"n":1.0}},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5},"system_fingerprint":"fp_1","new_field":12345678901234567890}',
  messages:
    '{"type":"message" ,"id":"msg_1","role":"assistant","model":"m-2026","content":[{"type":"text","text":"hi","new":1e3}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":2},"future":[1, 2]}',
  generate:
    '{\n  "candidates": [{"content": {"parts": [{"text": "hi"}], "role": "model"}, "finishReason": "STOP", "novel": 1.50}],\n  "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5},\n  "modelVersion": "m-2026"\n}',
};

const STREAM: Record<ProtocolId, string> = {
  chat: [
    ': comment\n\n',
    'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m-2026","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null,"obfuscation":"x"}\n\n',
    'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m-2026","choices":[{"index":0,"delta":{"content":"\\"model\\":\\"m-2026\\" 🦊"},"finish_reason":null}],"unknown":{"model":"m-2026"}}\n\n',
    'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m-2026","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n',
    'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m-2026","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}\n\n',
    'data: [DONE]\n\n',
  ].join(''),
  messages: [
    'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m-2026","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":1}}}\n\n',
    'event: brand_new\ndata: {"type":"brand_new", "n":1.0}\n\n',
    'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n',
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi 🦊"}}\n\n',
    'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n',
    'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}}\n\n',
    'event: message_stop\ndata: {"type":"message_stop"}\n\n',
  ].join(''),
  generate: [
    'data: {"candidates": [{"content": {"parts": [{"text": "hi","odd": 1.50}],"role": "model"}}],"modelVersion": "m-2026"}\r\n\r\n',
    'data: {"candidates": [{"content": {"parts": [{"text": ""}],"role": "model"},"finishReason": "STOP"}],"usageMetadata": {"promptTokenCount": 3,"candidatesTokenCount": 2,"totalTokenCount": 5},"modelVersion": "m-2026"}\r\n\r\n',
  ].join(''),
};

const MODELS: Record<ProtocolId, string> = { chat: 'a/m-2026', messages: 'b/m-2026', generate: 'c/m-2026' };

/** The model's own name field, which is first on the wire where the same text stands elsewhere. */
function renamed(protocol: ProtocolId, text: string): string {
  if (protocol === 'generate')
    return text.replaceAll(/"modelVersion": "m-2026"/g, `"modelVersion": "${MODELS.generate}"`);
  return text
    .replaceAll('"created":1,"model":"m-2026"', `"created":1,"model":"${MODELS.chat}"`)
    .replace('"role":"assistant","model":"m-2026"', `"role":"assistant","model":"${MODELS.messages}"`);
}

let upstream: TestUpstream;
let gateway: TestGateway;

before(async () => {
  upstream = await startUpstream((call, response) => {
    const protocol = call.path.includes('chat') ? 'chat' : call.path.includes('messages') ? 'messages' : 'generate';
    response.setHeader('set-cookie', 'secret=1');
    response.setHeader('x-request-id', 'up-1');
    if (call.body?.stream || call.path.includes('stream')) answerEvents(response, STREAM[protocol]);
    else {
      response.writeHead(200, { 'content-type': 'application/json' }).end(WHOLE[protocol]);
    }
  });
  gateway = await startTestGateway(`
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", api_key: upstream-key-a, models: [{ id: m-2026 }] }
  b: { type: anthropic, base_url: "${upstream.url}", api_key: upstream-key-b, models: [{ id: m-2026 }] }
  c: { type: google, base_url: "${upstream.url}", api_key: upstream-key-c, models: [{ id: m-2026 }] }
`);
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

for (const protocol of ['chat', 'messages', 'generate'] as const) {
  describe(`${protocol} relayed to ${protocol}`, () => {
    const model = MODELS[protocol];

    test('a whole response is the upstream’s bytes but for the model', async () => {
      const response = await ask(gateway, { protocol, model, text: 'hi' });
      assert.equal(response.status, 200);
      assert.equal(await response.text(), renamed(protocol, WHOLE[protocol]));
      assert.equal(response.headers.get('x-polygate-path'), 'passthrough');
      assert.equal(response.headers.get('set-cookie'), null);
    });

    test('a streamed answer is the upstream’s bytes but for the model', async () => {
      const body = {
        ...question(protocol, model, 'hi', true),
        ...(protocol === 'chat' && { stream_options: { include_usage: true } }),
      };
      const response = await post(gateway.url + PATHS[protocol](model, true), body, HEADERS[protocol]);
      assert.equal(response.headers.get('content-type')?.split(';')[0], 'text/event-stream');
      assert.equal(await response.text(), renamed(protocol, STREAM[protocol]));
    });

    test('the request is the client’s bytes but for the model, unknown fields and long numbers included', async () => {
      const text = `{ "brand_new" : {"deep":[1.0, 12345678901234567890]},${JSON.stringify(question(protocol, model, 'hi')).slice(1)}`;
      await post(gateway.url + PATHS[protocol](model, false), text, HEADERS[protocol]);
      const sent = upstream.calls.at(-1);
      assert.equal(sent?.bytes.toString(), text.replace(`"model":"${model}"`, '"model":"m-2026"'));
    });

    test('upstream gets its own credential and nothing of the client’s', async () => {
      await post(gateway.url + PATHS[protocol](model, false), question(protocol, model, 'hi'), {
        ...HEADERS[protocol],
        cookie: 'a=b',
        'x-custom': 'no',
        'x-forwarded-for': '1.2.3.4',
      });
      const { headers } = upstream.calls.at(-1) ?? assert.fail();
      assert.ok(!JSON.stringify(headers).includes(KEY));
      assert.equal(headers.cookie, undefined);
      assert.equal(headers['x-custom'], undefined);
      assert.equal(headers['x-forwarded-for'], undefined);
      assert.ok(JSON.stringify(headers).includes('upstream-key'));
    });
  });
}

test('version and betas of a messages client reach a messages upstream', async () => {
  await post(gateway.url + PATHS.messages(), question('messages', MODELS.messages, 'hi'), {
    authorization: `Bearer ${KEY}`,
    'anthropic-version': '2026-10-21',
    'anthropic-beta': 'one,two',
  });
  const { headers } = upstream.calls.at(-1) ?? assert.fail();
  assert.equal(headers['anthropic-version'], '2026-10-21');
  assert.equal(headers['anthropic-beta'], 'one,two');
  assert.equal(headers['x-api-key'], 'upstream-key-b');
});

test('the user profile of a messages client reaches a messages upstream, and its workspace does not', async () => {
  const more = { 'anthropic-user-profile-id': 'uprof_1', 'anthropic-workspace-id': 'wrkspc_1' };
  await post(gateway.url + PATHS.messages(), question('messages', MODELS.messages, 'hi'), {
    ...HEADERS.messages,
    ...more,
  });
  const { headers } = upstream.calls.at(-1) ?? assert.fail();
  assert.deepEqual([headers['anthropic-user-profile-id'], headers['anthropic-workspace-id']], ['uprof_1', undefined]);
});

test('usage is asked of a chat upstream for every stream, and not shown to a client that did not ask', async () => {
  const response = await ask(gateway, { protocol: 'chat', model: MODELS.chat, text: 'hi', stream: true });
  const text = await response.text();
  assert.deepEqual(upstream.calls.at(-1)?.body.stream_options, { include_usage: true });
  assert.ok(!text.includes('"choices":[]'));
  assert.ok(text.endsWith('data: [DONE]\n\n'));
});

test('a stream without alt=sse is one JSON array of the same elements', async () => {
  const url = `${gateway.url}/gemini/v1beta/models/${MODELS.generate}:streamGenerateContent`;
  const response = await post(url, question('generate', MODELS.generate, 'hi'), HEADERS.generate);
  assert.equal(response.headers.get('content-type')?.split(';')[0], 'application/json');
  const elements = (await response.json()) as { modelVersion: string }[];
  assert.deepEqual(
    elements.map(({ modelVersion }) => modelVersion),
    [MODELS.generate, MODELS.generate],
  );
});

test('a model that the client left out goes upstream, where the bytes of other members stay', async (context) => {
  const named = await startTestGateway(
    `default_model: m
providers: { a: { type: openai-compatible, base_url: "${upstream.url}/v1", api_key: k, models: [{ id: m }] } }`,
  );
  context.after(() => named.close());
  const messages = '"messages":[{"role":"user","content":"hi","odd":1.0}]';
  const limit = ['"max_completion_tokens":5', '"max_tokens":5'] as const;
  for (const [sent, expected] of [
    [`{"model":null,${messages},${limit[0]}}`, `{"model":"m",${messages},${limit[1]}}`],
    [`{${messages},${limit[0]},"models":["m"]}`, `{${messages},"model":"m",${limit[1]}}`],
    [`{"model":null,"models":["m"],${messages}}`, `{"model":"m",${messages}}`],
    [`{"model":null,${messages}}`, `{"model":"m",${messages}}`],
  ] as const) {
    assert.equal((await post(named.url + PATHS.chat(), sent, HEADERS.chat)).status, 200);
    assert.equal(upstream.calls.at(-1)?.bytes.toString(), expected);
  }
});

test('the gateway’s own field never goes upstream', async () => {
  const body = { ...question('chat', MODELS.chat, 'hi'), provider: { order: ['a'] } };
  await post(gateway.url + PATHS.chat(), body, HEADERS.chat);
  assert.equal(upstream.calls.at(-1)?.body.provider, undefined);
});

test('an upstream’s own error response reaches a client of the same protocol as it is', async () => {
  const words = { error: { message: 'Too many stops.', type: 'invalid_request_error', param: 'stop', code: 'x' } };
  const other = await startUpstream((_call, response) => answerJson(response, words, 400));
  const second = await startTestGateway(
    `providers: { a: { type: openai-compatible, base_url: "${other.url}/v1", models: [{ id: m }] } }`,
  );
  const response = await ask(second, { protocol: 'chat', model: 'a/m', text: 'hi' });
  assert.equal(response.status, 400);
  assert.deepEqual(await response.json(), words);
  await second.close();
  await other.close();
});
