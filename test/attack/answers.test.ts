/** Upstreams whose answers are odd in their parts, and answers that nobody waits for: usage, deltas, polls, stops, fallbacks. */

import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import type { Json } from '../../src/core/json/json.ts';
import { type EncodedUsage, usageRowOf } from '../../src/store/usage-row.ts';
import { createUpstreamClient } from '../../src/transport/upstream-client.ts';
import { sendRaw } from '../../src/videos/upstream-call.ts';
import { WIRES } from '../faults/wires.ts';
import { answerEvents, answerJson, ask, type ProtocolId, startTestGateway, startUpstream } from '../gateway/harness.ts';
import { hear, recordOf } from '../gateway/usage-client.ts';
import { createRig } from '../videos/rig.ts';
import { completed, type Reply, says } from '../videos/scripted.ts';
import { attack } from './attack.ts';
import { startMeasuredGateway } from './loop-measure.ts';

const AREA = 'answers';
const MEBIBYTE = 1024 * 1024;
const HOLD_MS = 100;
const IDS: readonly ProtocolId[] = ['chat', 'messages', 'generate'];
const PRICE = 'pricing: { prompt: "0.000001", completion: "0.00001" }';

const wireOf = (path: string): ProtocolId =>
  (['messages', 'generate'] as const).find((name) => path.toLowerCase().includes(name)) ?? 'chat';

const providersAt = (url: string): string => `
  x: { type: openai-compatible, base_url: "${url}/v1", api_key: k, models: [{ id: m, ${PRICE} }] }
  y: { type: anthropic, base_url: "${url}", api_key: k, models: [{ id: m, ${PRICE} }] }
  z: { type: google, base_url: "${url}", api_key: k, models: [{ id: m, ${PRICE} }] }`;

const WIDE = Object.fromEntries(Array.from({ length: 9_000 }, (_, index) => [`detail_${index}`, { tokens: index }]));
/** A megabyte in the object that says what was used. */
const USAGE: Record<string, Json> = {
  'a text of a megabyte': 'x'.repeat(MEBIBYTE),
  'lists of 200,000 numbers': Array.from({ length: 200_000 }, () => 12_345),
  '36,000 members in objects': [WIDE, WIDE, WIDE, WIDE],
};

function usageFrame(wire: ProtocolId, more: Json): string {
  const counted = { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8, more };
  const body: Record<ProtocolId, Json> = {
    chat: { id: 'c', object: 'chat.completion.chunk', model: 'm', choices: [], usage: counted },
    messages: { type: 'message_delta', delta: {}, usage: { input_tokens: 3, output_tokens: 5, more } },
    generate: {
      candidates: [{ content: { role: 'model', parts: [{ text: '' }] }, index: 0 }],
      usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 5, totalTokenCount: 8, more },
    },
  };
  return `data: ${JSON.stringify(body[wire])}\n\n`;
}

/** Streams that begin and end well, with `middles` between, by the protocol of the upstream and the model's text. */
async function throughStreams(
  middles: Record<string, (wire: ProtocolId) => string>,
  judge: (text: string, name: string) => void,
): Promise<string> {
  const upstream = await startUpstream((call, response) => {
    const wire = wireOf(call.path);
    const name = Object.keys(middles).find((candidate) => call.bytes.includes(candidate)) ?? '';
    answerEvents(response, WIRES[wire].head + middles[name]?.(wire) + WIRES[wire].tail);
  });
  const gateway = await startMeasuredGateway(providersAt(upstream.url));
  let worst = 0;
  try {
    for (const name of Object.keys(middles)) {
      for (const protocol of IDS) {
        for (const model of ['x/m', 'y/m', 'z/m']) {
          const { holdMs } = await gateway.measure(
            async () => {
              const response = await ask(gateway, { protocol, model, text: name, stream: true });
              const text = await response.text();
              assert.equal(response.status, 200, text.slice(0, 300));
              judge(text, name);
            },
            (measured) => measured.holdMs < HOLD_MS,
          );
          assert.ok(holdMs < HOLD_MS, `${name}, ${protocol} to ${model}: ${holdMs} ms`);
          worst = Math.max(worst, holdMs);
        }
      }
    }
  } finally {
    await gateway.close();
    await upstream.close();
  }
  return `${worst.toFixed(0)} ms`;
}

attack(
  AREA,
  {
    by: 'upstream',
    attempt: 'a usage of a megabyte in a stream, ten times',
    bound: `the answer or an error in the stream, and the event loop is held for less than ${HOLD_MS} ms`,
  },
  () =>
    throughStreams(
      Object.fromEntries(
        Object.entries(USAGE).map(([name, more]) => [name, (wire: ProtocolId) => usageFrame(wire, more).repeat(10)]),
      ),
      (text) => assert.match(text, /Hel/),
    ),
);

attack(
  AREA,
  {
    by: 'upstream',
    attempt: 'ten thousand empty deltas',
    bound: `the answer comes complete, and the event loop is held for less than ${HOLD_MS} ms`,
  },
  () =>
    throughStreams({ 'empty deltas': (wire) => WIRES[wire].text('').repeat(10_000) }, (text) => {
      assert.match(text, /Hel/);
      assert.doesNotMatch(text, /"error"/);
    }),
);

const many = (count: number, make: (index: number) => Json): Json[] =>
  Array.from({ length: count }, (_, at) => make(at));
const spoken = 'a'.repeat(MEBIBYTE);

function messageWith(content: Json[]): Json {
  return { ...WIRES.messages.whole, content };
}

function candidateWith(more: object, parts: Json[] = [{ text: spoken }]): Json {
  const candidate = { index: 0, content: { role: 'model', parts }, finishReason: 'STOP', ...more };
  return { ...WIRES.generate.whole, candidates: [candidate] };
}

/** Answers of which each part refers to another one, or is searched for in it. */
const REFERENCES: Record<string, { to: string; clients: readonly ProtocolId[]; answer: () => Json }> = {
  '400 citations without offsets, of a text of a megabyte': {
    to: 'y/m',
    clients: ['generate', 'chat'],
    answer: () =>
      messageWith([
        {
          type: 'text',
          text: spoken,
          citations: many(400, (at) => ({
            type: 'web_search_result_location',
            url: `https://x/${at}`,
            cited_text: 'ab',
          })),
        },
      ]),
  },
  '2,000 quotes that a text of a megabyte does not have': {
    to: 'z/m',
    clients: ['chat', 'messages'],
    answer: () =>
      candidateWith({
        citationMetadata: { citations: many(2000, (at) => ({ uri: `https://x/${at}`, text: `aaaab${at}` })) },
      }),
  },
  'quotes of 20,000 characters that the text has but for one of them': {
    to: 'z/m',
    clients: ['chat'],
    answer: () =>
      candidateWith({
        citationMetadata: {
          citations: ['ab', `${'a'.repeat(200)}b`].map((start) => ({ text: start + 'a'.repeat(20_000) })),
        },
      }),
  },
  'a source of half a megabyte that 20,000 supports name': {
    to: 'z/m',
    clients: ['chat', 'messages'],
    answer: () =>
      candidateWith({
        groundingMetadata: {
          groundingChunks: [{ retrievedContext: { title: 't', text: 's'.repeat(MEBIBYTE / 2) } }],
          groundingSupports: many(20, () => ({
            segment: { endIndex: 1 },
            groundingChunkIndices: Array.from({ length: 1000 }, () => 0),
          })),
        },
      }),
  },
  '5,000 calls without ids, of an answer whose own has a megabyte': {
    to: 'z/m',
    clients: ['chat'],
    answer: () => ({
      ...candidateWith(
        {},
        many(5000, () => ({ functionCall: { name: 'f', args: {} } })),
      ),
      responseId: spoken,
    }),
  },
};

/** Of an answer for a client, as a multiple of the upstream's. */
const MAX_GROWTH = 10;

attack(
  AREA,
  {
    by: 'upstream',
    attempt: 'citations, quotes, sources and calls of which each costs the length of another part of the answer',
    bound: `answered with ${MAX_GROWTH} times as much at most, the event loop is held for less than ${HOLD_MS} ms, and memory follows`,
  },
  async () => {
    let whole = Buffer.alloc(0);
    const upstream = await startUpstream((_call, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(whole);
    });
    const gateway = await startMeasuredGateway(providersAt(upstream.url));
    let worst = 0;
    let growth = 0;
    try {
      for (const [name, { to: model, clients, answer }] of Object.entries(REFERENCES)) {
        whole = Buffer.from(JSON.stringify(answer()));
        const within = 2 * MAX_GROWTH * whole.length + 96 * MEBIBYTE;
        for (const protocol of clients) {
          const { holdMs, bytes } = await gateway.measure(
            async () => {
              const response = await ask(gateway, { protocol, model, text: name });
              const text = await response.text();
              assert.equal(response.status, 200, text.slice(0, 300));
              growth = Math.max(growth, text.length / whole.length);
            },
            (measured) => measured.holdMs < HOLD_MS && measured.bytes < within,
          );
          worst = Math.max(worst, holdMs);
          assert.ok(holdMs < HOLD_MS && bytes < within, `${name}, ${protocol}: ${holdMs} ms, ${bytes} bytes`);
          assert.ok(growth < MAX_GROWTH, `${name}, ${protocol}: ${growth} times`);
        }
      }
    } finally {
      await gateway.close();
      await upstream.close();
    }
    return `${worst.toFixed(0)} ms, ${growth.toFixed(1)} times`;
  },
);

/** Answers to a poll that say nothing of the task. */
const POLLS: Record<string, Reply> = {
  'longer than any answer': { raw: `"${'x'.repeat(208 * MEBIBYTE)}"` },
  'full of escapes': { raw: `{"type":"${'\\"'.repeat(20 * MEBIBYTE)}"}` },
  'full of numbers': { raw: `[${'1e1,'.repeat(10 * MEBIBYTE)}1]` },
  'nested without end': { raw: '['.repeat(20 * MEBIBYTE) },
  'longer than it says': {
    raw: `{"type":"running"}${' '.repeat(1000)}HTTP/1.1 200 OK`,
    headers: { 'content-length': '18' },
  },
  'shorter than it says': { raw: '{"type":"running"}', headers: { 'content-length': '1000', connection: 'close' } },
  'empty, and says it is long': { raw: '', headers: { 'content-length': '1000000000000', connection: 'close' } },
};

attack(
  AREA,
  {
    by: 'upstream',
    attempt: `polls of a video that are ${Object.keys(POLLS).join(', ')}`,
    bound: 'none ends the task; the next honest answer does',
  },
  async (context) => {
    const rig = await createRig(context);
    const lies = Object.values(POLLS);
    rig.upstream.onPoll = (before) =>
      lies[before] ?? (before === lies.length ? says({ type: 'running' }) : completed());
    const { id } = await rig.create();
    const task = await rig.ended(id);
    assert.equal(task.status, 'completed');
    assert.ok(rig.upstream.polls > lies.length, String(rig.upstream.polls));
    return `completed after ${rig.upstream.polls} polls`;
  },
);

attack(
  AREA,
  {
    by: 'upstream',
    attempt: 'a poll of a video that comes byte by byte without end',
    bound: 'given up at the deadline of the call',
  },
  async () => {
    async function drip(response: ServerResponse): Promise<void> {
      response.writeHead(200, { 'content-type': 'application/json' });
      while (!response.destroyed) {
        response.write(' ');
        await setTimeout(10);
      }
    }
    const server = createServer((_request, response) => void drip(response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/videos/1`;
    const client = createUpstreamClient({ connect: 2000, firstByte: 5000, idle: 5000, total: 60_000 });
    const began = performance.now();
    try {
      const { signal } = new AbortController();
      const { type } = await sendRaw(client, { method: 'GET', url, headers: {} }, { signal, timeoutMs: 500 });
      assert.equal(type, 'no-response');
    } finally {
      await client.close();
      server.closeAllConnections();
      server.close();
    }
    const milliseconds = performance.now() - began;
    assert.ok(milliseconds < 5000, `${milliseconds} ms`);
    return `${milliseconds.toFixed(0)} ms`;
  },
);

attack(
  AREA,
  {
    by: 'key holder',
    attempt: 'leaving before the first byte at the moment when the gateway is stopped',
    bound: 'the input is charged and recorded before the gateway ends',
  },
  async () => {
    const upstream = await startUpstream(() => undefined);
    const records: EncodedUsage[] = [];
    const gateway = await startTestGateway(`providers:${providersAt(upstream.url)}`, {
      wrapStore: (store) => ({
        ...store,
        async call(name, parameters) {
          const result = await store.call(name, parameters);
          if (name === 'storeJournalBatch') records.push(...JSON.parse(`[${(parameters as Json).records.join(',')}]`));
          return result;
        },
      }),
    });
    try {
      const leaving = new AbortController();
      const lefts = ['x/m', 'y/m'].map((model) => {
        const text = 'word '.repeat(10_000);
        const question = { protocol: 'chat', model, text, stream: true, signal: leaving.signal } as const;
        return assert.rejects(ask(gateway, question));
      });
      while (upstream.calls.length < lefts.length) await setTimeout(5);
      leaving.abort();
      await Promise.all(lefts);
    } finally {
      await gateway.stop(1000);
      await upstream.close();
    }
    const rows = records.map((record) => usageRowOf(record));
    assert.deepEqual(
      rows.map(({ status, output_tokens }) => [status, output_tokens]),
      [
        ['cancelled', 0],
        ['cancelled', 0],
      ],
    );
    for (const { input_tokens, cost } of rows)
      assert.ok(input_tokens >= 8_000 && cost === BigInt(input_tokens) * 1_000_000n);
    return `${rows.map(({ input_tokens }) => input_tokens).join(' and ')} tokens`;
  },
);

attack(
  AREA,
  {
    by: 'upstream',
    attempt: 'an attempt that hangs until its deadline, before another endpoint answers',
    bound: 'one attempt is charged: the one that answered',
  },
  async () => {
    const upstream = await startUpstream((call, response) => {
      if (call.path.includes('chat')) return undefined;
      return answerJson(response, WIRES.messages.whole);
    });
    const gateway = await startTestGateway(`
server: { deadlines: { first_byte: 500ms } }
providers:${providersAt(upstream.url)}
models:
  house/m: { endpoints: [{ provider: x, model: m, priority: 0 }, { provider: y, model: m, priority: 1 }] }
`);
    try {
      const text = 'word '.repeat(10_000);
      const alone = await hear(gateway.url, { protocol: 'chat', model: 'y/m', text });
      const heard = await hear(gateway.url, { protocol: 'chat', model: 'house/m', text });
      assert.deepEqual([alone.status, heard.status, heard.headers['x-polygate-attempts']], [200, 200, '2']);
      const [one, both] = [await recordOf(gateway.url, alone.id), await recordOf(gateway.url, heard.id)];
      assert.equal(both.total_cost, one.total_cost);
      assert.equal(both.tokens_prompt, one.tokens_prompt);
      assert.equal(Number(heard.headers['x-polygate-cost']), both.total_cost);
      return `${both.total_cost} USD`;
    } finally {
      await gateway.close();
      await upstream.close();
    }
  },
);
