/** Usage that upstreams report in parts, or break off in between: what was reported counts, in translated streams as in relayed ones. */

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Json } from '../../src/core/json/json.ts';
import { awsMessage } from '../transport/aws-message.ts';
import { answerJson, startTestGateway, startUpstream, type TestGateway, type TestUpstream } from './harness.ts';
import { get, hear, recordOf } from './usage-client.ts';

let upstream: TestUpstream;
let gateway: TestGateway;

const frames = (list: Json[]): string =>
  list.map((data) => `${data.type ? `event: ${data.type}\n` : ''}data: ${JSON.stringify(data)}\n\n`).join('');

const message = {
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [] },
  ...{ stop_reason: null, stop_sequence: null, usage: { input_tokens: 40, output_tokens: 1 } },
};
const SEARCH = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} };
const PAUSED = [
  { type: 'message_start', message },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Searching.' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'content_block_start', index: 1, content_block: SEARCH },
  { type: 'content_block_stop', index: 1 },
  {
    ...{ type: 'message_delta', delta: { stop_reason: 'pause_turn', stop_sequence: null } },
    usage: { output_tokens: 500, server_tool_use: { web_search_requests: 3 } },
  },
  { type: 'message_stop' },
];

const PAUSED_TEXT = [{ type: 'text', text: 'Searching.' }];

/** Some servers count the input at the end alone. */
const UNCOUNTED = [
  { type: 'message_start', message: { ...message, usage: { input_tokens: 0, output_tokens: 0 } } },
  ...PAUSED.slice(1, 4),
];

const gemini = (text: string, thoughts: number): Json => ({
  candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0 }],
  usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 2, thoughtsTokenCount: thoughts },
  ...{ modelVersion: 'm', responseId: 'r' },
});

const chunk = (content: string, tokens: number): Json => ({
  ...{ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm' },
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
  usage: { prompt_tokens: 9, completion_tokens: tokens, total_tokens: 9 + tokens },
});

/** Usage of a message at its start, at its end, and what it is together; a count that is absent is estimated. */
const IN_PARTS: Record<string, { start: Json; end: Json; input: number; output?: number; cached: number }> = {
  'the input without its cached part': {
    start: { input_tokens: 10, cache_read_input_tokens: 1000, output_tokens: 1 },
    end: { input_tokens: 10, output_tokens: 20 },
    ...{ input: 1010, output: 20, cached: 1000 },
  },
  'an input of zero': {
    start: { input_tokens: 40, output_tokens: 1 },
    end: { input_tokens: 0, output_tokens: 20 },
    ...{ input: 40, output: 20, cached: 0 },
  },
  'nothing behind a start that has counted': {
    start: { input_tokens: 40, output_tokens: 77 },
    end: {},
    input: 40,
    output: 77,
    cached: 0,
  },
  'no output': { start: { input_tokens: 40, output_tokens: 1 }, end: {}, input: 40, cached: 0 },
};

function messageInParts(name: string): Json[] {
  const { start, end } = IN_PARTS[name] ?? {};
  return [
    { type: 'message_start', message: { ...message, usage: start } },
    ...PAUSED.slice(1, 4),
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: end },
    { type: 'message_stop' },
  ];
}

const GEMINI_IN_PARTS = [
  {
    candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] }, index: 0 }],
    usageMetadata: { promptTokenCount: 40 },
  },
  {
    candidates: [{ content: { role: 'model', parts: [{ text: '.' }] }, index: 0, finishReason: 'STOP' }],
    usageMetadata: { candidatesTokenCount: 20 },
  },
];

/** A whole answer without an end mark. */
const FINISHED = [
  chunk('Hi', 1),
  { ...chunk('', 1), choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  { ...chunk('', 60), choices: [] },
];

const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'm', output: [], status: 'in_progress' };
const FAILED = [
  { type: 'response.created', sequence_number: 0, response },
  {
    ...{ type: 'response.output_item.added', sequence_number: 1, output_index: 0 },
    item: { id: 'msg_1', type: 'message', role: 'assistant', status: 'in_progress', content: [] },
  },
  {
    ...{ type: 'response.content_part.added', sequence_number: 2, item_id: 'msg_1', output_index: 0 },
    ...{ content_index: 0, part: { type: 'output_text', text: '', annotations: [] } },
  },
  {
    ...{ type: 'response.output_text.delta', sequence_number: 3, item_id: 'msg_1', output_index: 0 },
    ...{ content_index: 0, delta: 'Hi' },
  },
  {
    ...{ type: 'response.failed', sequence_number: 4 },
    response: {
      ...{ ...response, status: 'failed', error: { code: 'server_error', message: 'Broken.' } },
      usage: {
        input_tokens: 11,
        output_tokens: 90,
        output_tokens_details: { reasoning_tokens: 80 },
        total_tokens: 101,
      },
    },
  },
];

/** An answer of Converse, whose counts come behind its end. */
const CONVERSE: [string, Json][] = [
  ['messageStart', { role: 'assistant' }],
  ['contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Hi' } }],
  ['contentBlockStop', { contentBlockIndex: 0 }],
  ['messageStop', { stopReason: 'end_turn' }],
  ['metadata', { usage: { inputTokens: 40, outputTokens: 20, cacheReadInputTokens: 1000 } }],
];

async function answerInTwo(answer: ServerResponse, events: [string, Json][]): Promise<void> {
  const bytes = events.map(([type, payload]) =>
    awsMessage({ ':event-type': type, ':message-type': 'event' }, JSON.stringify(payload)),
  );
  answer.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
  answer.write(Buffer.concat(bytes.slice(0, -1)));
  await pause(500);
  answer.end(bytes.at(-1));
}

/** Answers that report what was generated, show nothing of it and have no finish reason. */
const SILENT: Record<string, string> = {
  'with an end mark': `${frames([{ ...chunk('', 300), choices: [] }])}data: [DONE]\n\n`,
  'without one': frames([chunk('', 300)]),
};

/** A message that reports what was generated, and shows nothing of it. */
const HIDDEN = [
  { type: 'message_start', message },
  { type: 'message_delta', delta: { stop_reason: null, stop_sequence: null }, usage: { output_tokens: 500 } },
  { type: 'message_stop' },
];

/** A whole answer that no client can be told, because it calls a tool without a name. */
const NAMELESS = {
  ...{ ...message, stop_reason: 'tool_use', usage: { input_tokens: 40, output_tokens: 500 } },
  content: [
    { type: 'text', text: 'I look that up for you.' },
    { type: 'tool_use', id: 'toolu_1', name: '', input: {} },
  ],
};

/** Answers of Messages that fail, by the text of the question. */
function failing({ messages: [{ content }], messages, stream }: Json, answer: ServerResponse): void {
  const { text = content } = content[0];
  const used = { input_tokens: 40, output_tokens: 500, server_tool_use: { web_search_requests: 3 } };
  const paused = { ...message, content: [SEARCH], stop_reason: 'pause_turn', usage: used };
  if (messages.at(-1).role !== 'user')
    answerJson(answer, { error: { type: 'overloaded_error', message: 'busy' } }, 529);
  else if (text === 'hidden') answer.writeHead(200, { 'content-type': 'text/event-stream' }).end(frames(HIDDEN));
  else if (text === 'a pause' && stream)
    answer.writeHead(200, { 'content-type': 'text/event-stream' }).end(frames([PAUSED[0], ...PAUSED.slice(4)]));
  else if (text === 'a pause') answerJson(answer, paused);
  else if (text === 'an error') answerJson(answer, { type: 'error', error: { type: 'api_error' }, usage: used });
  else if (text === 'what was reported') answerJson(answer, NAMELESS);
  else if (text === 'a deep member') {
    const head = JSON.stringify({ ...NAMELESS, usage: undefined }).slice(0, -1);
    answer.writeHead(200, { 'content-type': 'application/json' });
    answer.end(`${head},"deep":${'['.repeat(7000)}${']'.repeat(7000)}}`);
  } else if (text === 'what was not reported') answerJson(answer, { ...NAMELESS, usage: undefined });
  else if (text === 'broken JSON')
    answer.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(NAMELESS).slice(0, -2));
  else {
    answer.writeHead(200, { 'content-type': 'application/json', 'content-length': 9999 });
    answer.write(JSON.stringify(NAMELESS));
    setTimeout(() => answer.destroy(), 50);
  }
}

function cut(answer: ServerResponse, text: string): void {
  answer.writeHead(200, { 'content-type': 'text/event-stream' }).write(text);
  setTimeout(() => answer.destroy(), 50);
}

before(async () => {
  upstream = await startUpstream(({ path, body }, answer) => {
    if (path.startsWith('/messages')) {
      if (body.messages.at(-1).role === 'user')
        answer.writeHead(200, { 'content-type': 'text/event-stream' }).end(frames(PAUSED));
      else answerJson(answer, { type: 'error', error: { type: 'overloaded_error', message: 'busy' } }, 529);
    } else if (path.startsWith('/failing')) failing(body, answer);
    else if (path.startsWith('/parts')) {
      const { content } = body.messages.at(-1);
      const text = typeof content === 'string' ? content : content[0].text;
      if (body.stream) answer.writeHead(200, { 'content-type': 'text/event-stream' }).end(frames(messageInParts(text)));
      else
        answerJson(answer, { ...message, content: PAUSED_TEXT, stop_reason: 'end_turn', usage: { output_tokens: 20 } });
    } else if (path.startsWith('/gemini-parts') && !path.includes('stream')) answerJson(answer, GEMINI_IN_PARTS[1]);
    else if (path.startsWith('/gemini-parts'))
      answer.writeHead(200, { 'content-type': 'text/event-stream' }).end(frames(GEMINI_IN_PARTS));
    else if (path.startsWith('/finished')) cut(answer, frames(FINISHED));
    else if (path.startsWith('/late')) void answerInTwo(answer, CONVERSE);
    else if (path.startsWith('/started'))
      answer.writeHead(200, { 'content-type': 'text/event-stream' }).end(frames(PAUSED.slice(0, 1)));
    else if (path.startsWith('/silent'))
      answer.writeHead(200, { 'content-type': 'text/event-stream' }).end(SILENT[body.messages.at(-1).content]);
    else if (path.startsWith('/uncounted')) cut(answer, frames(UNCOUNTED));
    else if (path.startsWith('/generate')) cut(answer, frames([gemini('Hi', 0), gemini(' you', 300)]));
    else if (path.startsWith('/chat')) cut(answer, frames([chunk('Hi', 1), chunk(' you', 60)]));
    else answer.writeHead(200, { 'content-type': 'text/event-stream' }).end(frames(FAILED));
  });
  const models =
    'api_key: k, models: [{ id: m, pricing: { prompt: "0.000001", completion: "0.00001", web_search: "0.01" } }]';
  gateway = await startTestGateway(`
providers:
  a: { type: anthropic, base_url: "${upstream.url}/messages", ${models} }
  p: { type: anthropic, base_url: "${upstream.url}/parts", ${models} }
  w: { type: anthropic, base_url: "${upstream.url}/failing", ${models} }
  x: { type: anthropic, base_url: "${upstream.url}/failing", ${models} }
  y: { type: anthropic, base_url: "${upstream.url}/failing", ${models} }
  q: { type: google, base_url: "${upstream.url}/gemini-parts", ${models} }
  l: { type: bedrock, base_url: "${upstream.url}/late", ${models.replace('id: m', 'id: amazon.m')} }
  f: { type: openai-compatible, base_url: "${upstream.url}/finished/v1", ${models} }
  b: { type: anthropic, base_url: "${upstream.url}/started", ${models} }
  u: { type: anthropic, base_url: "${upstream.url}/uncounted", ${models} }
  c: { type: openai-compatible, base_url: "${upstream.url}/chat/v1", ${models} }
  s: { type: openai-compatible, base_url: "${upstream.url}/silent/v1", ${models} }
  g: { type: google, base_url: "${upstream.url}/generate", ${models} }
  r: { type: open-responses, base_url: "${upstream.url}/responses/v1", ${models} }
`);
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

describe('a translated stream that breaks off', () => {
  test('in a later round: the earlier rounds as reported', async () => {
    const { id, trailers } = await hear(gateway.url, { protocol: 'chat', model: 'a/m', text: 'x', stream: true });
    const record = await recordOf(gateway.url, id);
    assert.deepEqual(
      [record.status, record.tokens_prompt, record.tokens_completion, record.num_search_results],
      ['partial', 40, 500, 3],
    );
    assert.equal(record.total_cost, 0.03504);
    assert.equal(trailers['x-polygate-cost'], '0.03504');
  });

  for (const [name, protocol, model, input, output, reasoning] of [
    ['generateContent', 'chat', 'g/m', 7, 302, 300],
    ['chat completions', 'messages', 'c/m', 9, 60, 0],
    ['Responses', 'chat', 'r/m', 11, 90, 80],
  ] as const) {
    test(`of ${name}: the last counts`, async () => {
      const { id } = await hear(gateway.url, { protocol, model, text: 'x', stream: true });
      const record = await recordOf(gateway.url, id);
      assert.deepEqual(
        [record.status, record.tokens_prompt, record.tokens_completion, record.native_tokens_reasoning],
        ['partial', input, output, reasoning],
      );
    });
  }
});

for (const protocol of ['chat', 'messages'] as const) {
  test(`a chat stream that is cut behind its finish reason is whole, for a client of ${protocol}`, async () => {
    const { id, text } = await hear(gateway.url, { protocol, model: 'f/m', text: 'x', stream: true });
    assert.doesNotMatch(text, /error/);
    const { status, tokens_prompt, tokens_completion, total_cost } = await recordOf(gateway.url, id);
    assert.deepEqual([status, tokens_prompt, tokens_completion, total_cost], ['completed', 9, 60, 0.000609]);
  });
}

for (const protocol of ['messages', 'chat'] as const) {
  test(`an input of zero so far is estimated, for a client of ${protocol}`, async () => {
    const { id } = await hear(gateway.url, { protocol, model: 'u/m', text: 'some words', stream: true });
    const record = await recordOf(gateway.url, id);
    assert.deepEqual([record.status, record.tokens_prompt > 0, record.tokens_estimated], ['partial', true, true]);
  });
}

describe('a chat stream that ends without content and finish reason', () => {
  for (const text in SILENT)
    for (const protocol of ['chat', 'messages'] as const)
      test(`${text}, asked for by ${protocol}: the usage that it reported`, async () => {
        const { id, status } = await hear(gateway.url, { protocol, model: 's/m', text, stream: true });
        assert.ok(status >= 500);
        const record = await recordOf(gateway.url, id);
        assert.deepEqual(
          [record.status, record.tokens_prompt, record.tokens_completion, record.total_cost],
          ['failed', 9, 300, 0.003009],
        );
      });
});

for (const protocol of ['messages', 'chat'] as const) {
  test(`a stream of Messages that ends behind its start costs nothing, for a client of ${protocol}`, async () => {
    const { id, status } = await hear(gateway.url, { protocol, model: 'b/m', text: 'x', stream: true });
    assert.ok(status >= 500);
    const record = await recordOf(gateway.url, id);
    assert.deepEqual([record.status, record.tokens_prompt, record.total_cost], ['failed', 0, 0]);
  });
}

test('a stream of Messages that reports tokens behind its start, and shows none, is charged for a client of chat', async () => {
  const { id, status } = await hear(gateway.url, { protocol: 'chat', model: 'w/m', text: 'hidden', stream: true });
  assert.ok(status >= 500);
  const record = await recordOf(gateway.url, id);
  assert.deepEqual([record.status, record.tokens_completion, record.total_cost], ['failed', 500, 0.00504]);
});

describe('a whole answer that fails on its way to its client', () => {
  for (const [text, protocol, output] of [
    ['what was reported', 'chat', 500],
    ['what was not reported', 'chat', undefined],
    ['broken JSON', 'chat', undefined],
    ['broken JSON', 'messages', undefined],
    ['a deep member', 'chat', undefined],
    ['a cut', 'chat', undefined],
    ['a cut', 'messages', undefined],
  ] as const)
    test(`${text}, asked for by ${protocol}: ${output ? 'charged' : 'estimated and charged'}`, async () => {
      const { id, status } = await hear(gateway.url, { protocol, model: 'w/m', text });
      assert.ok(status >= 500);
      const record = await recordOf(gateway.url, id);
      assert.deepEqual([record.status, record.tokens_estimated], ['failed', output === undefined]);
      if (output) assert.deepEqual([record.tokens_prompt, record.total_cost], [40, 0.00504]);
      // Seven words, and what of the call is told.
      else assert.ok(record.tokens_completion >= 5 && record.tokens_completion <= 15, `${record.tokens_completion}`);
      assert.ok(record.total_cost > 0);
    });

  for (const [text, model, note] of [
    ['what was reported', 'x/m', /^500 tokens of output were discarded$/],
    ['broken JSON', 'y/m', /^about \d+ tokens of output were discarded$/],
  ] as const)
    test(`${text}, before another endpoint answered: noted in the trace, and not charged`, async () => {
      const { id, status } = await hear(gateway.url, { protocol: 'chat', model, text, more: { models: ['p/m'] } });
      assert.equal(status, 200);
      const { total_cost, tokens_prompt, tokens_completion, attempts } = await recordOf(gateway.url, id);
      assert.deepEqual([attempts, tokens_completion], [2, 20]);
      assert.equal(total_cost, Number((tokens_prompt * 0.000001 + 20 * 0.00001).toFixed(12)));
      const { trace } = (await get(gateway.url, `/v1/self/requests/${id}`)).body.data;
      assert.match(trace.attempts[0].note, note);
      assert.equal(trace.attempts[1].note, null);
    });

  test('an error costs nothing, whatever it reports', async () => {
    const { id, status } = await hear(gateway.url, { protocol: 'chat', model: 'w/m', text: 'an error' });
    assert.ok(status >= 500);
    const { total_cost, tokens_completion } = await recordOf(gateway.url, id);
    assert.deepEqual([total_cost, tokens_completion], [0, 0]);
  });

  for (const protocol of ['chat', 'generate'] as const)
    for (const stream of [false, true])
      test(`in a later round: the earlier rounds as reported, ${stream ? 'streamed' : 'whole'}, to ${protocol}`, async () => {
        const { id } = await hear(gateway.url, { protocol, model: 'w/m', text: 'a pause', stream });
        const record = await recordOf(gateway.url, id);
        assert.deepEqual(
          [record.tokens_prompt, record.tokens_completion, record.num_search_results, record.total_cost],
          [40, 500, 3, 0.03504],
        );
      });
});

describe('usage in parts', () => {
  for (const [name, { input, output, cached }] of Object.entries(IN_PARTS))
    for (const protocol of ['messages', 'chat'] as const)
      test(`${name} at the end of a message, for a client of ${protocol}`, async () => {
        const { id } = await hear(gateway.url, { protocol, model: 'p/m', text: name, stream: true });
        const record = await recordOf(gateway.url, id);
        assert.deepEqual(
          [record.status, record.tokens_prompt, record.native_tokens_cached],
          ['completed', input, cached],
        );
        if (output !== undefined) assert.equal(record.tokens_completion, output);
        else assert.ok(record.tokens_completion > 1 && record.tokens_estimated);
      });

  for (const protocol of ['messages', 'chat'] as const)
    test(`the counts half a second behind the end of Converse, for a client of ${protocol}`, async () => {
      const { id, text } = await hear(gateway.url, { protocol, model: 'l/amazon.m', text: 'x', stream: true });
      assert.match(text, /"(prompt|input)_tokens":(1040|40),/);
      const record = await recordOf(gateway.url, id);
      assert.deepEqual(
        [record.status, record.tokens_prompt, record.native_tokens_cached, record.tokens_completion],
        ['completed', 1040, 1000, 20],
      );
    });

  for (const protocol of ['generate', 'chat'] as const)
    test(`the input at the start of an answer of Gemini, the output at its end, for a client of ${protocol}`, async () => {
      const { id } = await hear(gateway.url, { protocol, model: 'q/m', text: 'x', stream: true });
      const record = await recordOf(gateway.url, id);
      assert.deepEqual([record.tokens_prompt, record.tokens_completion, record.total_cost], [40, 20, 0.00024]);
    });

  for (const [protocol, model] of [
    ['messages', 'p/m'],
    ['generate', 'q/m'],
    ['chat', 'p/m'],
    ['chat', 'q/m'],
  ] as const)
    test(`an output without its input, which is estimated, from ${model} for a client of ${protocol}`, async () => {
      const { id, headers, text } = await hear(gateway.url, { protocol, model, text: 'some words' });
      const record = await recordOf(gateway.url, id);
      assert.deepEqual([record.tokens_completion, record.tokens_estimated], [20, true]);
      assert.ok(record.tokens_prompt > 0);
      assert.equal(Number(headers['x-polygate-cost']), record.total_cost);
      if (protocol === 'chat') assert.equal(JSON.parse(text).usage.prompt_tokens, record.tokens_prompt);
    });
});
