/** Models that Bedrock serves by Converse, through a whole gateway: official SDKs, streams that fail, and what is charged. */

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type OpenAI from 'openai';
import type { Json } from '../../src/core/json/json.ts';
import { problemsOfConverse } from '../corpus/validators/converse.ts';
import {
  type Answerer,
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
} from '../gateway/harness.ts';
import { awsException, awsMessage } from '../transport/aws-message.ts';
import { anthropicClients } from './anthropic.ts';
import { genaiClients } from './genai.ts';
import { anthropicLoop, genaiLoop, type Loop, openaiLoop } from './loops.ts';
import { openaiClients } from './openai.ts';

const NOVA = 'us.amazon.nova-2-lite-v1:0';
const LLAMA = 'us.meta.llama4-maverick-17b-instruct-v1:0';
const ARN = 'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123';
const PIXEL = 'iVBORw0KGgo=';
const STREAM_TYPE = { 'content-type': 'application/vnd.amazon.eventstream' };

const usage = { inputTokens: 4, outputTokens: 5, totalTokens: 15, cacheReadInputTokens: 6, cacheWriteInputTokens: 0 };
const counted = { usage, metrics: { latencyMs: 1 } };

type Event = [type: string, payload: Json];

/** Thinks and calls once, and answers when it has the result. */
function blocksFor({ messages, toolConfig }: Json): Json[] {
  const isAnswered = messages.at(-1).content.some(({ toolResult }: Json) => toolResult);
  const name = toolConfig?.tools[0].toolSpec?.name;
  if (name === undefined || isAnswered) return [{ text: 'Sunny in Zürich 🦊' }];
  return [
    { reasoningContent: { reasoningText: { text: 'I must look. 🤔', signature: 'c2lnbmF0dXJl' } } },
    { toolUse: { toolUseId: 'tooluse_1', name, input: { city: 'Zürich' } } },
  ];
}

const isCall = ({ toolUse }: Json): boolean => toolUse !== undefined;

function eventsOf(blocks: Json[]): Event[] {
  const delta = (contentBlockIndex: number, inner: Json): Event => [
    'contentBlockDelta',
    { contentBlockIndex, delta: inner },
  ];
  const inner = blocks.flatMap(({ text, toolUse, reasoningContent }, index): Event[] => {
    const stop: Event = ['contentBlockStop', { contentBlockIndex: index }];
    if (text !== undefined) return [...[...text].map((char) => delta(index, { text: char })), stop];
    if (reasoningContent) {
      const { text: words, signature } = reasoningContent.reasoningText;
      return [
        delta(index, { reasoningContent: { text: words } }),
        delta(index, { reasoningContent: { signature } }),
        stop,
      ];
    }
    const { input, ...start } = toolUse;
    const pieces = JSON.stringify(input).match(/.{1,4}/gsu) ?? [];
    const begin: Event = ['contentBlockStart', { contentBlockIndex: index, start: { toolUse: start } }];
    return [begin, ...pieces.map((piece) => delta(index, { toolUse: { input: piece } })), stop];
  });
  const stopReason = blocks.some(isCall) ? 'tool_use' : 'end_turn';
  return [['messageStart', { role: 'assistant' }], ...inner, ['messageStop', { stopReason }], ['metadata', counted]];
}

function framed(events: Event[]): Buffer {
  return Buffer.concat(
    events.map(([type, payload]) =>
      awsMessage({ ':event-type': type, ':message-type': 'event' }, JSON.stringify({ ...payload, p: 'abcdefg' })),
    ),
  );
}

const wellAnswered: Answerer = ({ path, body }, response) => {
  const problems = problemsOfConverse(body);
  const type = { 'x-amzn-errortype': 'ValidationException:http://internal.amazon.com/' };
  if (problems.length > 0) return answerJson(response, { message: problems.join('; ') }, 400, type);
  const blocks = blocksFor(body);
  if (path.endsWith('/converse-stream')) {
    response.writeHead(200, STREAM_TYPE).end(framed(eventsOf(blocks)));
    return;
  }
  const stopReason = blocks.some(isCall) ? 'tool_use' : 'end_turn';
  answerJson(response, { output: { message: { role: 'assistant', content: blocks } }, stopReason, ...counted });
};

let answer: Answerer = wellAnswered;
let upstream: TestUpstream;
let gateway: TestGateway;

before(async () => {
  upstream = await startUpstream((call, response) => answer(call, response));
  const pricing = '{ prompt: "0.000001", completion: "0.00001", input_cache_read: "0.0000005" }';
  const models = `[{ id: "${NOVA}", pricing: ${pricing} }, { id: "${LLAMA}" }, { id: "${ARN}" }]`;
  gateway = await startTestGateway(
    `providers: { bedrock: { base_url: "${upstream.url}", api_key: ABSK, models: ${models} } }`,
    { fetchBytes: async () => ({ bytes: Buffer.from(PIXEL, 'base64'), type: 'image/png' }) },
  );
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

beforeEach(() => {
  answer = wellAnswered;
  upstream.calls.length = 0;
});

const last = () => upstream.calls.at(-1) ?? assert.fail('nothing was asked');

function send(protocol: ProtocolId, more: Json = {}, model = NOVA) {
  const body = { ...question(protocol, `bedrock/${model}`, 'Hi', more.stream), ...more };
  return post(gateway.url + PATHS[protocol](`bedrock/${model}`, more.stream === true), body, HEADERS[protocol]);
}

const connection = () => ({ url: gateway.url, key: KEY });

type Run = (model: string, stream: boolean) => Promise<Loop>;

function runs<Client>(
  clients: Record<string, () => Client>,
  loop: (client: Client, model: string, stream: boolean) => Promise<Loop>,
): [string, Run][] {
  return Object.entries(clients).map(([name, connect]) => [name, (model, stream) => loop(connect(), model, stream)]);
}

/** As users of the Responses SDK write it, with all state in their hands. */
async function responsesLoop(client: OpenAI, model: string, stream: boolean): Promise<Loop> {
  const tools = [{ type: 'function' as const, name: 'weather', parameters: { type: 'object' }, strict: false }];
  const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'Weather?' }];
  const params = { model, tools, store: false, include: ['reasoning.encrypted_content' as const] };
  const ask = async () => {
    if (!stream) return client.responses.create({ ...params, input });
    return client.responses.stream({ ...params, input }).finalResponse();
  };
  const { output, usage: tokens } = await ask();
  const call = output.find(({ type }) => type === 'function_call') as OpenAI.Responses.ResponseFunctionToolCall;
  const items = output.map((item) => ('parsed_arguments' in item ? { ...item, parsed_arguments: undefined } : item));
  input.push(...(items as OpenAI.Responses.ResponseInput));
  input.push({ type: 'function_call_output', call_id: call.call_id, output: 'sunny' });
  const reasoning = output.flatMap((item) =>
    item.type === 'reasoning' ? [...(item.content ?? []), ...item.summary] : [],
  );
  return {
    reasoning: reasoning.map(({ text }) => text).join(''),
    args: JSON.parse(call.arguments),
    usage: { input: tokens?.input_tokens, output: tokens?.output_tokens },
    text: (await ask()).output_text,
  };
}

const SDKS = [
  ...runs(openaiClients(connection), openaiLoop),
  ...runs(anthropicClients(connection), anthropicLoop),
  ...runs(genaiClients(connection), genaiLoop),
  ...Object.entries(openaiClients(connection)).map(([name, connect]): [string, Run] => [
    `${name}, Responses`,
    (model, stream) => responsesLoop(connect(), model, stream),
  ]),
];

describe('a tool loop with a thinking model behind Converse', () => {
  for (const [name, run] of SDKS) {
    for (const stream of [false, true]) {
      test(`of ${name}, ${stream ? 'streamed' : 'whole'}`, async () => {
        const { reasoning, args, usage: tokens, text } = await run(`bedrock/${NOVA}`, stream);
        assert.deepEqual([args, text], [{ city: 'Zürich' }, 'Sunny in Zürich 🦊']);
        // Clients of messages count cached tokens apart.
        assert.deepEqual(tokens, { input: name.startsWith('anthropic') ? 4 : 10, output: 5 });
        if (!name.startsWith('openai') || name.endsWith('Responses')) assert.equal(reasoning, 'I must look. 🤔');
        assert.equal(last().path, `/model/us.amazon.nova-2-lite-v1%3A0/converse${stream ? '-stream' : ''}`);
        assert.equal(last().headers.authorization, 'Bearer ABSK');
        const [, turn] = last().body.messages;
        assert.deepEqual(turn.content, blocksFor({ messages: [{ content: [] }], toolConfig: last().body.toolConfig }));
      });
    }
  }
});

describe('requests by Converse', () => {
  test('a picture by URL is sent as its content, and a document under a name that is allowed', async () => {
    const content = [
      { type: 'text', text: 'What is it?' },
      { type: 'image_url', image_url: { url: 'https://example.com/picture.png' } },
      {
        type: 'file',
        file: { filename: 'my_report (final).pdf', file_data: 'data:application/pdf;base64,JVBERi0xLjQK' },
      },
    ];
    const response = await send('chat', { messages: [{ role: 'user', content }] });
    assert.equal(response.status, 200, await response.text());
    const [, image, document] = last().body.messages[0].content;
    assert.deepEqual(image, { image: { format: 'png', source: { bytes: PIXEL } } });
    assert.equal(document.document.name, 'my report (final)');
  });

  test('fields of Converse alone pass as options of the provider, and what it does not have is named', async () => {
    const guardrailConfig = { guardrailIdentifier: 'g', guardrailVersion: '1' };
    const own = { guardrailConfig, requestMetadata: { team: 'a' }, performanceConfig: { latency: 'optimized' } };
    const response = await send('chat', { provider: { options: { bedrock: own } }, seed: 3, logit_bias: { 5: 1 } });
    assert.equal(response.status, 200, await response.text());
    assert.equal(response.headers.get('x-polygate-dropped'), 'seed, logit_bias');
    const { messages: _, ...rest } = last().body;
    assert.deepEqual(rest, own);
    const refused = await send('chat', { provider: { options: { bedrock: { system: [] } } } });
    assert.equal(refused.status, 400);
  });

  test('a field that the model turns out to refuse is taken out, and the request sent once more', async () => {
    answer = (call, response) => {
      if (!call.body.inferenceConfig?.stopSequences) return wellAnswered(call, response);
      const message = "This model doesn't support the stopSequences field. Remove stopSequences and try again.";
      return answerJson(response, { message }, 400, { 'x-amzn-errortype': 'ValidationException:x' });
    };
    const response = await send('chat', { stop: ['x'], temperature: 0 }, LLAMA);
    assert.equal(response.status, 200, await response.text());
    assert.equal(response.headers.get('x-polygate-dropped'), 'stop');
    assert.deepEqual([upstream.calls.length, last().body.inferenceConfig], [2, { temperature: 0 }]);
  });

  test('an answer by a schema comes as text, whole and streamed', async () => {
    const schema = { type: 'array', items: { type: 'string' } };
    answer = ({ path, body }, response) => {
      const name = body.toolConfig.toolChoice.tool.name;
      const blocks = [{ toolUse: { toolUseId: 't', name, input: { answer: ['Paris', 'Rome'] } } }];
      if (path.endsWith('-stream')) response.writeHead(200, STREAM_TYPE).end(framed(eventsOf(blocks)));
      else answerJson(response, { output: { message: { content: blocks } }, stopReason: 'tool_use', ...counted });
    };
    const response_format = { type: 'json_schema', json_schema: { name: 'cities', schema } };
    const whole = (await (await send('chat', { response_format })).json()) as Json;
    const [{ message, finish_reason }] = whole.choices;
    assert.deepEqual([message.content, message.tool_calls, finish_reason], ['["Paris","Rome"]', undefined, 'stop']);
    const text = await (await send('chat', { response_format, stream: true })).text();
    const chunks = text.split('\n\n').flatMap((frame) => (/^data: \{/.test(frame) ? [JSON.parse(frame.slice(6))] : []));
    assert.equal(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), '["Paris","Rome"]');
  });

  test('a profile whose ARN names no model is asked by Converse', async () => {
    assert.equal((await send('messages', {}, ARN)).status, 200);
    assert.match(last().path, /application-inference-profile%2Fabc123\/converse$/);
  });

  test('tokens that a cache read are charged as such', async () => {
    const body = (await (await send('chat', { usage: { include: true } })).json()) as Json;
    assert.equal(body.usage.prompt_tokens, 10);
    assert.equal(body.usage.prompt_tokens_details.cached_tokens, 6);
    const { cost } = body.usage;
    assert.ok(Math.abs(cost - (4e-6 + 6 * 5e-7 + 5e-5)) < 1e-12, `${cost}`);
  });
});

describe('errors of Converse', () => {
  const NAMES: [name: string, status: number, ours: number, code: string][] = [
    ['throttlingException', 429, 429, 'rate_limit_exceeded'],
    ['modelNotReadyException', 429, 503, 'server_is_overloaded'],
    ['serviceUnavailableException', 503, 503, 'server_is_overloaded'],
    ['modelTimeoutException', 408, 504, 'timeout'],
    ['modelStreamErrorException', 424, 502, 'upstream_error'],
    ['internalServerException', 500, 502, 'upstream_error'],
    ['validationException', 400, 400, 'invalid_request'],
    ['resourceNotFoundException', 404, 404, 'model_not_found'],
  ];
  const beginning = eventsOf([{ text: 'Hello.' }]).slice(0, 3);
  for (const [name, status, ours, code] of NAMES) {
    test(`${name}: whole, before the first event of a stream, and after it`, async (context) => {
      const yaml = `providers: { fresh: { type: bedrock, base_url: "${upstream.url}", api_key: ABSK, models: [{ id: "${NOVA}" }] } }`;
      const fresh = await startTestGateway(yaml);
      context.after(() => fresh.close());
      const asked = { protocol: 'chat' as const, model: `fresh/${NOVA}`, text: 'Hi' };
      answer = (_call, response) =>
        answerJson(response, { message: 'Not now.' }, status, { 'x-amzn-errortype': `${name}:http://x/` });
      const whole = await ask(fresh, asked);
      assert.deepEqual([whole.status, ((await whole.json()) as Json).error.code], [ours, code]);
      answer = (_call, response) =>
        void response
          .writeHead(200, STREAM_TYPE)
          .end(Buffer.concat([framed(beginning.slice(0, 1)), awsException(name, 'Not now.')]));
      const early = await ask(fresh, { ...asked, stream: true });
      assert.deepEqual([early.status, ((await early.json()) as Json).error.code], [ours, code]);
      answer = (_call, response) =>
        void response
          .writeHead(200, STREAM_TYPE)
          .end(Buffer.concat([framed(beginning), awsException(name, 'Not now.')]));
      const late = await (await ask(fresh, { ...asked, stream: true })).text();
      assert.match(late, new RegExp(`"content":"H".*"code":"${code}"`, 's'));
    });
  }

  test('a malformed answer is an error in the stream of every client; an unknown reason is the end of an answer', async () => {
    const call: Event[] = [
      ['messageStart', { role: 'assistant' }],
      ['contentBlockStart', { contentBlockIndex: 0, start: { toolUse: { toolUseId: 't', name: 'f' } } }],
      ['contentBlockDelta', { contentBlockIndex: 0, delta: { toolUse: { input: '{"a":' } } }],
      ['contentBlockStop', { contentBlockIndex: 0 }],
      ['messageStop', { stopReason: 'malformed_tool_use' }],
      ['metadata', counted],
    ];
    answer = (_call, response) => void response.writeHead(200, STREAM_TYPE).end(framed(call));
    assert.match(await (await send('messages', { stream: true })).text(), /event: error\ndata: .*malformed_tool_use/);
    const { usage: charged } = gateway.log.findLast(({ msg }) => msg === 'answered') ?? {};
    assert.deepEqual([charged.input, charged.output], [10, 5], 'its tokens count once');
    assert.match(await (await send('chat', { stream: true })).text(), /"code":"upstream_error"/);
    const empty = { output: { message: { role: 'assistant', content: [] } }, stopReason: 'weary', ...counted };
    answer = (_call, response) => answerJson(response, empty);
    const whole = await send('messages');
    const { content, stop_reason } = (await whole.json()) as Json;
    assert.deepEqual([whole.status, content, stop_reason], [200, [], 'end_turn']);
  });

  test('a stream that ends before its end is an error that says so; one without counts is whole', async () => {
    const events = eventsOf([{ text: 'Hello.' }]);
    const streamed = (list: Event[]): Answerer => {
      return (_call, response) => void response.writeHead(200, STREAM_TYPE).end(framed(list));
    };
    answer = streamed(events.slice(0, -2));
    for (const protocol of ['chat', 'messages'] as const) {
      const text = await (await send(protocol, { stream: true })).text();
      assert.match(text, /closed its response before the end/, protocol);
    }
    answer = streamed(events.slice(0, -1));
    const text = await (await send('messages', { stream: true })).text();
    assert.match(text, /event: message_delta\ndata: .*"estimated":true.*\n\nevent: message_stop/);
  });
});
