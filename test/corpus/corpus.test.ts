/** The suite over recorded traffic, tried on recordings written here: it passes what is faithful and sees what is not. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { awsChunk, awsException, awsMessage } from '../transport/aws-message.ts';
import { type Answer, type Choice, canonical, emptyChoice } from './answer.ts';
import { compareAsked, emptyAsked } from './asked.ts';
import { compare, type Finding } from './expectation.ts';
import { heard, mistaken } from './sdk.ts';
import { problemsOfChat } from './validators/chat.ts';
import { problemsOfGenerate } from './validators/generate.ts';
import { problemsOfMessages } from './validators/messages.ts';
import { problemsOfResponses } from './validators/responses.ts';

const SOURCE = { kind: 'recording', source: { repo: 'none', path: 'none', index: 0, licence: 'none' } };

function record(id: string, protocol: string, request: Json, response: Json): Json {
  const about = { id, scenario: id, protocol, provider: protocol.split('-')[0], model: 'recorded-model' };
  return { ...SOURCE, ...about, request: { body: request }, response: { status: 200, ...response } };
}

const chatAnswer = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'recorded-model',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
};

const faithful = [
  record(
    'c1',
    'openai-chat',
    { model: 'recorded-model', messages: [{ role: 'user', content: 'Hi' }] },
    { body: chatAnswer },
  ),
  record(
    'g1',
    'gemini-generate',
    { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
    {
      stream_format: 'sse',
      stream: [
        'data: {"candidates":[{"content":{"role":"model","parts":[{"text":"Hel"}]}}],"modelVersion":"m"}\r\n\r\n',
        'data: {"candidates":[{"content":{"role":"model","parts":[{"text":"lo."}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2,"totalTokenCount":5},"modelVersion":"m"}\r\n\r\n',
      ],
    },
  ),
  record(
    'r1',
    'openai-responses',
    { model: 'recorded-model', input: 'Hi', store: false },
    {
      body: {
        ...{ id: 'resp_1', object: 'response', status: 'completed', model: 'recorded-model' },
        output: [
          { id: 'msg_1', type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello.' }] },
        ],
        usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
      },
    },
  ),
  record('o1', 'ollama-chat', {}, { body: {} }),
];

let folder: string;

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'polygate-corpus-'));
});

after(() => rmSync(folder, { recursive: true }));

interface Ended {
  status: number | null;
  stdout: string;
  stderr: string;
}

function run(...args: string[]): Ended {
  return runWith({ npm_config_json: undefined }, ...args);
}

function runWith(environment: NodeJS.ProcessEnv, ...args: string[]): Ended {
  const env = { ...process.env, ...environment };
  return spawnSync(process.execPath, [join(import.meta.dirname, 'main.ts'), ...args], { encoding: 'utf8', env });
}

function write(records: Json[]): void {
  writeFileSync(join(folder, 'records.jsonl'), records.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
}

describe('the program', () => {
  test('passes faithful recordings and counts those it cannot judge yet', () => {
    write(faithful);
    const { status, stdout, stderr } = run(folder, '--json');
    assert.equal(status, 0, stdout + stderr);
    const { recordings, uncovered, rows } = JSON.parse(stdout);
    assert.equal(recordings, 3);
    assert.deepEqual(uncovered, { 'ollama-chat': 1 });
    const relayed = rows.find(({ pair, feature }: Json) => pair === 'responses > responses' && feature === 'bytes');
    assert.deepEqual([relayed.cases, relayed.equal], [1, 1]);
    const translated = rows.find(({ pair, feature }: Json) => pair === 'generate > responses' && feature === 'text');
    assert.deepEqual([translated.cases, translated.equal], [2, 2]);
    const heard = rows.find(({ pair, feature }: Json) => pair === 'responses > chat' && feature === 'text');
    assert.deepEqual([heard.cases, heard.equal], [2, 2]);
    const text = rows.find(({ pair, feature }: Json) => pair === 'messages > chat' && feature === 'text');
    assert.deepEqual(text, {
      pair: 'messages > chat',
      feature: 'text',
      cases: 2,
      equal: 2,
      adapted: 0,
      refused: 0,
      different: 0,
    });
  });

  test('fails and names the record when the gateway refuses what a provider accepted', () => {
    const request = { model: 'm', temperature: 7, messages: [{ role: 'user', content: 'Hi' }] };
    write([record('c2', 'openai-chat', request, { body: chatAnswer })]);
    const { status, stdout } = run(folder);
    assert.equal(status, 1);
    assert.match(stdout, /\n\d+ passed, 1 failed\n$/);
    assert.match(stdout, /chat > chat: request\n {2}c2 whole/);
  });

  test('takes the option that npm takes for its own', () => {
    write(faithful.slice(0, 1));
    const { stdout } = runWith({ npm_config_json: 'true' }, folder);
    assert.equal(JSON.parse(stdout).recordings, 1);
  });

  test('says what is wrong when there is nothing to judge', () => {
    write([]);
    const wrong: [RegExp, string[]][] = [
      [/There is no folder .*nowhere/, [join(folder, 'nowhere')]],
      [/no recordings to judge in/, [folder]],
      [/Unknown option '--yaml'/, [folder, '--yaml']],
    ];
    for (const [words, args] of wrong) {
      const { status, stdout, stderr } = run(...args);
      assert.deepEqual([status, stdout], [255, '']);
      assert.match(stderr, words);
    }
  });
});

describe('streams in a framing of their own', () => {
  const event = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Grüße' } };
  const stop = { stopReason: 'end_turn' };
  const bytes = Buffer.concat([
    awsChunk(event),
    awsMessage({ ':event-type': 'messageStop', ':message-type': 'event' }, JSON.stringify(stop)),
  ]);
  const messages: Json[] = [
    { headers: { ':event-type': 'chunk' }, payload: { 'bytes(decoded)': event } },
    { headers: { ':event-type': 'messageStop' }, payload: stop },
  ];
  const streamOf = (id: string, raw: Buffer, stream: Json[]) =>
    record(id, 'bedrock-invoke', {}, { stream_format: 'aws-eventstream', stream, raw_base64: raw.toString('base64') });

  test('are compared message by message', () => {
    write([streamOf('b1', bytes, messages)]);
    const { status, stdout, stderr } = run(folder);
    assert.equal(status, 0, stdout + stderr);
    assert.match(stdout, /\nstreams in the framing aws-event-stream: 1, with 2 messages\n\n1 passed, 0 failed\n$/);
  });

  test('fail for every difference, by their name', () => {
    const [first, second] = messages;
    const damaged = Buffer.from(bytes);
    damaged[40] = (damaged[40] ?? 0) ^ 1;
    const cases: [string, Buffer, Json[], RegExp][] = [
      ['fewer', bytes, [first], /expected 1 messages, got 2/],
      ['none', bytes, [], /no message was recorded/],
      ['name', bytes, [first, { ...second, headers: { ':event-type': 'metadata' } }], /message 1: .*metadata/],
      ['payload', bytes, [first, { ...second, payload: { ...stop, stopReason: 'x' } }], /message 1: .*end_turn/],
      ['damaged', damaged, messages, /not judged: .*wrong checksum/],
      ['cut', bytes.subarray(0, -1), messages, /not judged: .*inside a message/],
      ['exception', Buffer.concat([bytes, awsException('throttlingException', 'Slow.')]), messages, /Slow\./],
    ];
    write(cases.map(([id, raw, stream]) => streamOf(id, raw, stream)));
    const { status, stdout } = run(folder, '--json');
    assert.equal(status, cases.length);
    const { framings } = JSON.parse(stdout);
    for (const [index, [id, , , words]] of cases.entries()) {
      assert.equal(framings[index].id, id);
      assert.match(framings[index].detail, words);
    }
  });
});

function outcomes(findings: Finding[]): Record<string, string> {
  return Object.fromEntries(findings.map(({ feature, outcome }) => [feature, outcome]));
}

describe('comparing answers', () => {
  const choice = { ...emptyChoice(), text: 'Hi', end: 'stop-sequence' as const, stopSequence: 'END' };
  const counts = { input: 3, output: 2, cached: 0, cacheWrite: 1, reasoning: 0 };
  const answer: Answer = { choices: [choice], counts };
  const listener = { client: 'chat', hides: false } as const;

  test('what a protocol has no word for is adapted, what is gone is different', () => {
    const received = { choices: [{ ...choice, end: 'stop' as const, text: '' }], counts };
    const found = outcomes(compare(answer, received, listener));
    assert.deepEqual(found, { text: 'different', finish: 'adapted', usage: 'equal' });
  });

  test('a lost call, a changed count and a changed number are different', () => {
    const calls = [{ name: 'f', args: canonical({ n: 1 }) }];
    const received = {
      choices: [{ ...choice, calls: [{ name: 'f', args: canonical({ n: 2 }) }] }],
      counts: { ...counts, input: 4 },
    };
    const found = outcomes(compare({ ...answer, choices: [{ ...choice, calls }] }, received, listener));
    assert.deepEqual([found.calls, found.usage], ['different', 'different']);
  });

  test('a last call that may have been cut before its arguments is left out for clients of generate alone', () => {
    const first = { name: 'f', args: '{}' };
    const last = { name: 'g', args: '{}' };
    const callsOf = (client: 'chat' | 'generate', end: 'length' | 'calls', received: Choice['calls']) => {
      const recorded = { ...choice, end, calls: [first, last] };
      const got = { choices: [{ ...recorded, calls: received }], counts };
      return outcomes(compare({ choices: [recorded], counts }, got, { client, hides: false })).calls;
    };
    assert.equal(callsOf('generate', 'length', [first]), 'adapted');
    assert.equal(callsOf('generate', 'length', [first, last]), 'equal');
    assert.equal(callsOf('generate', 'length', []), 'different');
    assert.equal(callsOf('generate', 'calls', [first]), 'different');
    assert.equal(callsOf('chat', 'length', [first]), 'different');
  });

  test('numbers are equal by value, not by spelling', () => {
    assert.equal(canonical(JSON.parse('[1.50, 100, 0]')), canonical(JSON.parse('[1.5, 1e2, -0]')));
    assert.notEqual(canonical(1), canonical(10));
  });

  test('a setting may only be lost by name', () => {
    const asked = { ...emptyAsked(), settings: { seed: 1 } };
    assert.deepEqual(outcomes(compareAsked(asked, emptyAsked(), ['seed'])), { settings: 'adapted' });
    assert.deepEqual(outcomes(compareAsked(asked, emptyAsked(), [])), { settings: 'different' });
  });
});

describe('the SDKs', () => {
  const stream = (frames: Json[]) => frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join('');
  const chunk = (delta: Json, finish: string | null = null) => ({
    ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' },
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const received = (text: string, status = 200) => {
    const headers = { 'content-type': text.startsWith('data:') ? 'text/event-stream' : 'application/json' };
    const response = new Response(text, { status, headers });
    return { status, headers: response.headers, text, response };
  };

  test('give what their helpers put together, and what only their chunks hold', async () => {
    const chunks = [
      chunk({ role: 'assistant', reasoning: 'a' }),
      chunk({ reasoning: 'b' }),
      chunk({ content: 'c' }),
      chunk({}, 'stop'),
    ];
    const { choices } = await heard('chat', 'stream', received(`${stream(chunks)}data: [DONE]\n\n`));
    const [{ message, finish_reason }] = choices;
    assert.deepEqual([message.reasoning, message.content, finish_reason], ['ab', 'c', 'stop']);
  });

  test('throw for a stream that only looks complete', async () => {
    const text = stream([chunk({ content: 'c' })]);
    await assert.rejects(heard('chat', 'stream', received(text)), /finish_reason/);
  });

  test('say which error it was', async () => {
    const error = JSON.stringify({ error: { message: 'so "it" is', type: 't', code: null, param: null } });
    assert.equal(await mistaken('chat', 'whole', received(error, 404)), undefined);
    assert.equal(await mistaken('generate', 'whole', received(error, 404)), undefined);
    const answer = JSON.stringify(chatAnswer);
    assert.match((await mistaken('chat', 'whole', received(answer))) ?? '', /for an answer/);
  });
});

describe('validators', () => {
  test('a call without its result', () => {
    const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } };
    const user = { role: 'user', content: 'x' };
    assert.match(
      String(problemsOfChat({ messages: [user, { role: 'assistant', tool_calls: [call] }, user] })),
      /before/,
    );
    const use = { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] };
    assert.match(String(problemsOfMessages({ max_tokens: 1, messages: [user, use, user] })), /lacks results of a/);
    const contents = [
      { role: 'user', parts: [{ text: 'x' }] },
      { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] },
      { role: 'user', parts: [{ text: 'x' }] },
    ];
    assert.match(String(problemsOfGenerate({ contents })), /where \[f\] was asked/);
  });

  test('a Responses request: calls, reasoning, limits and ids', () => {
    const problems = (input: Json[], more: Json = {}) => problemsOfResponses({ store: false, input, ...more });
    const user = { type: 'message', role: 'user', content: 'x' };
    const call = { type: 'function_call', id: 'fc_1', call_id: 'a', name: 'f', arguments: '{}' };
    const output = { type: 'function_call_output', call_id: 'a', output: 'x' };
    const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' };
    assert.deepEqual(problems([user, reasoning, call, output]), []);
    assert.match(String(problems([user, call])), /a are not answered/);
    assert.match(String(problems([user, output])), /was not asked/);
    assert.match(String(problems([user, reasoning, user])), /led to nothing/);
    assert.match(String(problems([user, { ...call, id: 'call_1' }, output])), /id call_1 of a function_call/);
    assert.match(String(problems([user], { max_output_tokens: 5 })), /max_output_tokens is 5/);
    assert.match(String(problems([user], { store: true })), /store is true/);
    assert.match(String(problems([user], { tools: [{ type: 'function', name: 'f', parameters: {} }] })), /strict/);
  });

  test('empty texts and turns of one speaker in a row', () => {
    const empty = { role: 'user', content: [{ type: 'text', text: '' }] };
    assert.equal(problemsOfMessages({ max_tokens: 1, messages: [empty, empty] }).length, 3);
    const blank = { role: 'user', parts: [{ text: '' }] };
    assert.equal(problemsOfGenerate({ contents: [blank, blank] }).length, 3);
  });
});
