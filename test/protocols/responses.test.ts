/** The Responses protocol: what is read from its bodies and events, and what the gateway writes itself. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CallPart, OpenPart, ReasoningPart, TextPart } from '../../src/core/chat.ts';
import { GatewayError } from '../../src/core/errors.ts';
import type { Json } from '../../src/core/json/json.ts';
import type { WebSearch } from '../../src/core/native.ts';
import { wrap } from '../../src/core/opaque.ts';
import type { EncoderOptions } from '../../src/core/operation.ts';
import type { HiddenState } from '../../src/core/stored-access.ts';
import type { Output } from '../../src/inference/response/converter.ts';
import { createRelay } from '../../src/inference/response/relay-stream.ts';
import { responses } from '../../src/protocols/responses/index.ts';
import { withHidden, withoutHidden, withoutState } from '../../src/protocols/responses/stored.ts';
import { COMPLETED, deltaOf, eventsOf, FAILED, frame, preambleOf, streamOf, USAGE, WHOLE } from './responses-wire.ts';

const { complete } = responses.operations;
const options: EncoderOptions = { model: 'a/m', created: 1, includeUsage: true, array: false, hideReasoning: false };

describe('usage', () => {
  const counted = { input: 30, output: 12, cached: 10, cacheWrite: 4, reasoning: 5 };
  const usages: [name: string, body: Json, expected: Json][] = [
    ['of a whole response', WHOLE, counted],
    ['of the last event', COMPLETED, counted],
    ['of a failed response', FAILED, counted],
    ['none before the end', preambleOf()[0], undefined],
    ['none in other events', deltaOf('x', 1), undefined],
    ['without details', { usage: { input_tokens: 1, output_tokens: 2 } }, { input: 1, output: 2 }],
    ['of a wrong type', { usage: { input_tokens: 'many' } }, undefined],
    [
      'with the tier, and the cost of OpenRouter',
      { service_tier: 'flex', usage: { ...USAGE, cost: 0.5, is_byok: false } },
      { ...counted, reportedCost: 0.5, tier: 'flex' },
    ],
    ['with the ticks of xAI', { usage: { ...USAGE, cost_in_usd_ticks: 2e10 } }, { ...counted, reportedCost: 2 }],
    [
      'with searches, but not pages',
      {
        ...{ usage: USAGE },
        output: [
          { type: 'web_search_call', action: { type: 'search' } },
          { type: 'web_search_call' },
          { type: 'web_search_call', action: { type: 'open_page' } },
        ],
      },
      { ...counted, searches: 2 },
    ],
    [
      'with the searches that are charged, where they are told',
      {
        ...{ usage: USAGE, tool_usage: { web_search: { num_requests: 1 } } },
        output: [{ type: 'web_search_call' }, { type: 'web_search_call' }],
      },
      { ...counted, searches: 1 },
    ],
    [
      'without searches that cost nothing',
      { usage: USAGE, tool_usage: { web_search: { num_requests: 0 } }, output: [{ type: 'web_search_call' }] },
      counted,
    ],
    [
      'with the tokens of images that a tool made',
      {
        ...{ usage: USAGE, output: [] },
        tool_usage: {
          image_gen: { input_tokens: 50, output_tokens: 1056, output_tokens_details: { image_tokens: 1056 } },
          web_search: { num_requests: 0 },
        },
      },
      { ...counted, imageToolInput: 50, imageToolOutput: 1056 },
    ],
    [
      'with searches that are done, beside a count of zero',
      {
        ...{ usage: USAGE, tool_usage: { web_search: { num_requests: 0 } } },
        output: [
          { type: 'web_search_call', status: 'completed', action: { type: 'search' } },
          { type: 'web_search_call', status: 'completed', action: { type: 'open_page' } },
          { type: 'web_search_call', status: 'failed', action: { type: 'search' } },
        ],
      },
      { ...counted, searches: 1 },
    ],
    [
      'with searches whose charges have a wrong type',
      { usage: USAGE, tool_usage: { web_search: { num_requests: -1 } }, output: [{ type: 'web_search_call' }] },
      { ...counted, searches: 1 },
    ],
  ];
  const image = { type: 'image_generation_call', status: 'completed', result: 'iVBORw0KGgo=', quality: 'low' };
  const images = (tool_usage: Json) => ({
    usage: USAGE,
    output: [image, image, { ...image, result: null }],
    tool_usage,
  });
  const zeros = { image_gen: { input_tokens: 0, output_tokens: 0 } };
  usages.push(
    ['with images that are not counted', images(undefined), { ...counted, imageToolOutput: 816 }],
    ['with images beside a count of zero', images(zeros), { ...counted, imageToolOutput: 816 }],
    ['with images that are counted', images({ image_gen: { output_tokens: 7 } }), { ...counted, imageToolOutput: 7 }],
  );

  for (const [name, body, expected] of usages) test(name, () => assert.deepEqual(complete.usageOf(body), expected));
});

describe('events', () => {
  const plain = (event: Json) => ({ data: JSON.stringify(event) });
  const sorted = (event: Json) => ({ data: JSON.stringify({ response: event.response, type: event.type }) });
  const spaced = ({ type, ...rest }: Json) => ({ data: JSON.stringify({ a: 1, type, ...rest }, null, 1) });
  const named = (event: Json) => ({ event: event.type, data: '{}' });

  for (const [name, read] of Object.entries({ plain, sorted, spaced, named })) {
    test(`beginnings and ends, ${name}`, () => {
      const [created, progress] = preambleOf();
      for (const event of [created, progress, { type: 'response.queued', response: {} }]) {
        assert.equal(complete.isPreamble?.(read(event)), true);
        assert.equal(complete.isEnd(read(event)), false);
      }
      for (const event of [COMPLETED, { ...COMPLETED, type: 'response.incomplete' }]) {
        assert.equal(complete.isEnd(read(event)), true);
        assert.equal(complete.isPreamble?.(read(event)), false);
      }
    });
  }

  test('text that names an end is none', () => {
    assert.equal(complete.isEnd(plain(deltaOf('"type":"response.completed"', 1))), false);
    assert.equal(complete.isEnd({ data: '[DONE]' }), false);
  });

  test('the first characters tell a preamble', () => {
    const isUnread = (text: string) => complete.isUnreadPreamble?.(text.slice(0, 96));
    for (const event of preambleOf()) {
      assert.equal(isUnread(frame(event)), true);
      assert.equal(isUnread(`data: ${JSON.stringify(event)}\n\n`), true);
    }
    for (const event of [COMPLETED, FAILED, deltaOf('event: response.created', 1)])
      assert.equal(isUnread(frame(event)), false);
  });
});

describe('relay', () => {
  function relayed(bytes: Buffer, cuts: number[] = []): string {
    const relay = createRelay(responses, options);
    const out: Output[] = [];
    let start = 0;
    for (const end of [...cuts, bytes.length]) {
      relay.push(bytes.subarray(start, end), out);
      start = end;
    }
    relay.end(out);
    return Buffer.concat([...out, ...relay.last()].map((piece) => Buffer.from(piece))).toString();
  }
  const named = (text: string) =>
    text.replaceAll('"max_output_tokens":null,"model":"m-2026"', '"max_output_tokens":null,"model":"a/m"');

  test('a preamble is not parsed', () => {
    const [created] = preambleOf();
    const broken = frame(created).replace('"metadata":', '"metadata":nothing that is JSON');
    const rest = streamOf('Hi').slice(frame(eventsOf('Hi')[0]).length);
    assert.equal(relayed(Buffer.from(broken + rest)), named(broken + rest));
  });

  test('a large preamble is named in its place, also where tools have the same name', () => {
    for (const tools of [
      [],
      [{ type: 'function', name: 'f', parameters: { properties: { model: { type: 'string' } } } }],
    ]) {
      const text = streamOf('Hi', { instructions: `"model": "m-2026" ${'é\n"x" '.repeat(10_000)}`, tools });
      assert.equal(relayed(Buffer.from(text)), named(text));
    }
  });

  for (const [name, text] of Object.entries({
    'line feeds': streamOf('é🦊'),
    'carriage returns': streamOf('é🦊').replaceAll('\n', '\r\n'),
  })) {
    test(`the same text however it is cut, with ${name}`, () => {
      const bytes = Buffer.from(text);
      const whole = relayed(bytes);
      assert.equal(whole, named(text));
      for (
        let cut = 1;
        cut < bytes.length;
        cut++ // A line feed after the last carriage return is no event.
      )
        assert.equal(relayed(bytes, [cut]).trimEnd(), whole.trimEnd(), String(cut));
    });
  }

  test('events of servers that write no event lines, in any order of members', () => {
    const text = eventsOf('Hi')
      .map(({ type, sequence_number, ...rest }) => `data: ${JSON.stringify({ ...rest, sequence_number, type })}\n\n`)
      .join('');
    assert.equal(relayed(Buffer.from(text)), named(text));
  });

  test('facts and usage of the last event', () => {
    const relay = createRelay(responses, options);
    relay.push(Buffer.from(streamOf('Hi')), []);
    relay.end([]);
    const { id, model, finish } = relay.facts();
    assert.deepEqual([id, model, finish], ['resp_1', 'm-2026', 'completed']);
    assert.equal(relay.usage()?.reasoning, 5);
  });

  test('a stream without a last event is incomplete, and its text is estimated', () => {
    const relay = createRelay(responses, options);
    relay.push(Buffer.from(eventsOf('Hello world').slice(0, -1).map(frame).join('')), []);
    assert.throws(() => relay.end([]), GatewayError);
    assert.ok((relay.partialUsage()?.output ?? 0) >= 2);
  });
});

test('searches at once are items one after another, each with the pages that it found', () => {
  const told = (search: WebSearch) => ({ type: 'native', protocol: 'messages', value: {}, search }) as const;
  const begun = ['a', 'b', 'c'].map((id) => told({ id, queries: [`about ${id}`] }));
  const found = ['b', 'a', 'c'].map((id) => told({ id, sources: [`https://${id}.example/`] }));
  const echo = complete.echoOf?.({ include: ['web_search_call.action.sources'] });
  const candidates = [{ parts: [...begun, ...found], finish: { reason: 'stop' } as const }];
  const { output } = complete.encodeResponse({ id: 'x', model: 'm', candidates }, { ...options, echo });
  assert.deepEqual(
    output.map(({ action }: Json) => [action.query, action.sources.map(({ url }: Json) => url)]),
    ['a', 'b', 'c'].map((id) => [`about ${id}`, [`https://${id}.example/`]]),
  );
});

describe('state that a client does not ask for', () => {
  const opaque = (value: string) => ({ kind: 'signature' as const, value, origin: 'p' });
  const thought = (text: string, value?: string): ReasoningPart => ({
    type: 'reasoning',
    text,
    ...(value && { opaque: opaque(value) }),
  });
  const said = (text: string, value?: string): TextPart => ({
    type: 'text',
    text,
    ...(value && { opaque: opaque(value) }),
  });
  const call = (id: string, value?: string): CallPart => ({
    type: 'call',
    id,
    name: 'f',
    args: '{}',
    ...(value && { opaque: opaque(value) }),
  });
  const answers: Record<string, OpenPart[]> = {
    'of reasoning with text': [thought('Hm.', 's1'), said('A')],
    'of reasoning without text': [thought('', 's1'), said('A')],
    'of a text at the end': [said('A', 's1')],
    'of calls': [thought('Hm.'), call('c1', 's1'), call('c2'), call('c3', 's3')],
    'of several places': [thought('Hm.', 's1'), said('A'), thought('', 's2'), call('c1', 's3'), said('B', 's4')],
    none: [thought('Hm.'), said('A'), call('c1')],
  };
  for (const [name, parts] of Object.entries(answers)) {
    test(`${name} goes back as that which a client asked for`, () => {
      const finish = { reason: 'stop' } as const;
      const response = { id: 'x', model: 'm', candidates: [{ parts, finish }] };
      const hidden: HiddenState[] = [];
      const shown = complete.encodeResponse(response, { ...options, hidden, echo: complete.echoOf?.({}) });
      const echo = complete.echoOf?.({ include: ['reasoning.encrypted_content'] });
      const included = complete.encodeResponse(response, { ...options, hidden: [], echo });
      assert.doesNotMatch(JSON.stringify(shown), /encrypted_content|hidden/);
      const stored = withHidden(shown.output, hidden);
      assert.deepEqual(withoutState({ output: stored }, ['reasoning.encrypted_content']).output, shown.output);
      const turnsOf = (input: Json[]) => complete.decodeRequest({ model: 'm', input }).turns;
      assert.deepEqual(turnsOf(stored.flatMap(withoutHidden)), turnsOf(included.output));
    });
  }
});

describe('errors', () => {
  test('a failed response has every member that Open Responses requires', () => {
    const text = complete.encodeStreamError(new GatewayError('upstream_error', 'Broken.'), 'req', options);
    const { response } = JSON.parse(text.split('\n')[1]?.slice('data: '.length) ?? '');
    assert.deepEqual(
      REQUIRED.filter((name) => response[name] === undefined),
      [],
    );
    assert.equal(response.status, 'failed');
  });

  const codes: [error: GatewayError, code: string, message: RegExp][] = [
    [new GatewayError('upstream_error', 'Broken.'), 'server_error', /^Broken\.$/],
    [new GatewayError('timeout', 'Late.'), 'server_error', /^Late\.$/],
    [
      new GatewayError('rate_limit_exceeded', 'Slow.', { retryAfter: 1500 }),
      'rate_limit_exceeded',
      /try again in 2s\.$/,
    ],
    [new GatewayError('context_length_exceeded', 'Long.'), 'context_length_exceeded', /^Long\.$/],
    [new GatewayError('insufficient_quota', 'Empty.'), 'insufficient_quota', /^Empty\.$/],
    [new GatewayError('content_policy_violation', 'No.'), 'invalid_prompt', /^No\.$/],
  ];
  for (const [error, code, message] of codes) {
    test(`${error.code} after the start is ${code}`, () => {
      const text = complete.encodeStreamError(error, 'req', options, { id: 'resp_7', sequence: 4 });
      const event = JSON.parse(text.split('\n')[1]?.slice('data: '.length) ?? '');
      assert.deepEqual([event.type, event.sequence_number, event.response.id], ['response.failed', 5, 'resp_7']);
      assert.equal(event.response.error.code, code);
      assert.match(event.response.error.message, message);
    });
  }

  const read: [body: Json, code: string | undefined][] = [
    [FAILED, 'upstream_error'],
    [FAILED.response, 'upstream_error'],
    [{ type: 'response.failed', response: {} }, 'upstream_error'],
    [{ type: 'error', code: 'rate_limit_exceeded', message: 'Slow.' }, 'rate_limit_exceeded'],
    [{ type: 'error', error: { code: 'invalid_prompt', message: 'No.' } }, 'invalid_request'],
    [{ error: 'xAI says a string' }, 'upstream_error'],
    [{ error: { code: 400, message: 'No.' } }, 'invalid_request'],
    [WHOLE, undefined],
    [COMPLETED, undefined],
    [preambleOf()[0], undefined],
    [deltaOf('x', 1), undefined],
  ];
  for (const [body, code] of read)
    test(`${JSON.stringify(body).slice(0, 60)} is ${code}`, () => assert.equal(responses.errorIn(body)?.code, code));
});

describe('requests', () => {
  test('a conversation is told by its own ids, else by its beginning', () => {
    const input = [
      { role: 'developer', content: 'Be short.' },
      { role: 'user', content: 'Hi' },
    ];
    const later = [...input, { role: 'assistant', content: 'Yes?' }, { role: 'user', content: 'More.' }];
    const of = (body: Json, headers = {}) => complete.conversation(body, headers);
    assert.equal(of({ input }), of({ input: later }));
    assert.notEqual(of({ input, instructions: 'a' }), of({ input, instructions: 'b' }));
    assert.notEqual(of({ input: 'Hi' }), of({ input: 'Ho' }));
    assert.equal(of({ input, prompt_cache_key: 'k' }, { session_id: 's' }), 'k');
    for (const name of ['x-litellm-session-id', 'conversation_id', 'session_id', 'session-id', 'thread-id'])
      assert.equal(of({ input }, { [name]: 's' }), 's');
  });

  test('the output limit is the largest that a server may read, and each is lowered', () => {
    const body: Json = { max_output_tokens: 50, max_tokens: 900, n: 2 };
    assert.deepEqual(complete.outputOf(body), { limit: 900, answers: 2, thinking: 0 });
    complete.limitOutput(body, 100, {});
    assert.deepEqual(body, { max_output_tokens: 50, max_tokens: 100, n: 2 });
    const open: Json = {};
    complete.limitOutput(open, 100, {});
    assert.deepEqual(open, { max_output_tokens: 100 });
  });

  test('wrapped state comes back to its origin; of another origin it goes, and the ids that hang on it', () => {
    const sealed = (origin: string) => wrap({ kind: 'encrypted', value: 'state', origin });
    const input = () => [
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: sealed('one') },
      { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'f', arguments: '{}' },
      { type: 'function_call_output', id: 'fco_1', call_id: 'c', output: '' },
      { type: 'message', id: 'msg_1', role: 'assistant', content: [] },
    ];
    const own: Json = { input: input() };
    assert.equal(complete.state?.restore(own, 'one'), true);
    assert.deepEqual(own.input, [{ ...input()[0], encrypted_content: 'state' }, ...input().slice(1)]);
    const foreign: Json = { input: input() };
    assert.equal(complete.state?.restore(foreign, 'two'), true);
    const [, { id: _, ...call } = { id: '' }, ...rest] = input();
    assert.deepEqual(foreign.input, [call, ...rest]);
    const plain: Json = { input: [{ type: 'reasoning', encrypted_content: 'raw' }] };
    assert.equal(complete.state?.restore(plain, 'two'), false);
  });

  test('a history that another provider compacted cannot be left out', () => {
    const encrypted_content = wrap({ kind: 'encrypted', value: 'state', origin: 'one' });
    const body = { input: [{ type: 'compaction', id: 'cmp_1', encrypted_content }] };
    assert.throws(() => complete.state?.restore(body, 'two'), {
      code: 'unsupported_parameter',
      param: 'input[0].encrypted_content',
    });
  });
});

/** `ResponseResource` of the Open Responses specification, 2026-04-24. */
const REQUIRED = [
  ...['id', 'object', 'created_at', 'completed_at', 'status', 'incomplete_details', 'model', 'previous_response_id'],
  ...['instructions', 'output', 'error', 'tools', 'tool_choice', 'truncation', 'parallel_tool_calls', 'text', 'top_p'],
  ...[
    'presence_penalty',
    'frequency_penalty',
    'top_logprobs',
    'temperature',
    'reasoning',
    'usage',
    'max_output_tokens',
  ],
  ...['max_tool_calls', 'store', 'background', 'service_tier', 'metadata', 'safety_identifier', 'prompt_cache_key'],
];
