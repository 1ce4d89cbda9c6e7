/** Attacks on what answers cost: upstreams that report nothing or nonsense, and clients that leave before they pay. */

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { estimateTokens } from '../../src/inference/tokens/estimate.ts';
import { WIRES } from '../faults/wires.ts';
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
} from '../gateway/harness.ts';
import { get, type Heard, hear, recordOf } from '../gateway/usage-client.ts';
import { attack } from './attack.ts';

const AREA = 'accounting';
const PROVIDERS: Record<ProtocolId, string> = { chat: 'a', messages: 'b', generate: 'c' };
const IDS = Object.keys(PROVIDERS) as ProtocolId[];
const INPUT_WORDS = 50_000;
/** An estimate of the input is some 20 % off at most for plain words. */
const LEAST_INPUT = 0.8 * INPUT_WORDS;
const ANSWER = Array.from(
  { length: 70 },
  (_, index) => ` Sentence ${index} has exactly ten words in it, "quoted" too.\n`,
);
const MAX_TOKENS = 1_000_000_000;

let upstream: TestUpstream;
let gateway: TestGateway;

/** Frames of some 15 tokens each, without any usage. */
function speechOf(protocol: ProtocolId): string {
  const { head, text } = WIRES[protocol];
  return head.replaceAll(/,?"usage":\{[^}]*\}/g, '') + ANSWER.map((sentence) => text(sentence)).join('');
}

function tailOf(protocol: ProtocolId): string {
  return WIRES[protocol].tail.replaceAll(/,?"usage(Metadata)?":\{[^}]*\}/g, '');
}

function behave(call: UpstreamCall, response: ServerResponse): unknown {
  const protocol = IDS.find((name) => call.path.toLowerCase().includes(name)) ?? 'chat';
  const [, scene = '', detail = ''] = /scene:(\w+) ?(\S*?)[ "\\]/.exec(call.bytes.subarray(0, 2000).toString()) ?? [];
  const stream = call.path.includes('stream') || call.body.stream === true;
  const wire = WIRES[protocol];
  const body = { ...wire.whole, usage: JSON.parse(Buffer.from(detail, 'base64url').toString() || '{}') };
  switch (scene) {
    case 'hang':
      return undefined;
    case 'cut':
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(speechOf(protocol));
      return setTimeout(() => response.destroy(), 20);
    case 'silent':
      return answerEvents(response, speechOf(protocol) + tailOf(protocol));
    case 'early': {
      // What it counted when it began is all that it ever says.
      const start = wire.head.replace(/"usage":\{[^}]*\}/, '"usage":{"input_tokens":5,"output_tokens":1}');
      return answerEvents(response, start + speechOf(protocol).slice(wire.head.length) + tailOf(protocol));
    }
    case 'usage': {
      const { id, choices, ...rest } = body;
      const last = { id, object: 'chat.completion.chunk', model: 'm', choices: [], usage: rest.usage };
      if (!stream) return answerJson(response, body);
      const tail = wire.tail.replace('data: [DONE]', `data: ${JSON.stringify(last)}\n\ndata: [DONE]`);
      return answerEvents(response, wire.head + tail);
    }
  }
  return answerJson(response, wire.whole);
}

before(async () => {
  upstream = await startUpstream((call, response) => void behave(call, response));
  const model = 'models: [{ id: m, pricing: { prompt: "0.000001", completion: "0.00001", web_search: "0.005" } }]';
  const chat = `base_url: "${upstream.url}/v1", api_key: k`;
  gateway = await startTestGateway(`
server: { deadlines: { first_byte: 2s } }
providers:
  a: { type: openai-compatible, ${chat}, ${model} }
  b: { type: anthropic, base_url: "${upstream.url}", api_key: k, ${model} }
  c: { type: google, base_url: "${upstream.url}", api_key: k, ${model} }
  bills: { type: openrouter, ${chat}, ${model} }
  ticks: { type: xai, ${chat}, ${model.replace('id: m,', 'id: m, rules: { protocols: [chat] },')} }
  free: { type: openai-compatible, ${chat}, models: [{ id: m }] }
`);
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

function scene(name: string, usage?: Json | string): string {
  const text = typeof usage === 'string' ? usage : JSON.stringify(usage ?? {});
  return `scene:${name} ${Buffer.from(text).toString('base64url')} `;
}

for (const stream of [false, true]) {
  attack(
    AREA,
    {
      by: 'key holder',
      attempt: `leaving before the first byte of ${stream ? 'a stream' : 'a whole answer'}, with ${INPUT_WORDS} words of input`,
      bound: 'the input is charged, in all protocols and between them',
    },
    async () => {
      const costs: number[] = [];
      for (const protocol of IDS) {
        for (const target of IDS) {
          const asked = upstream.calls.length;
          const leaving = new AbortController();
          const text = scene('hang') + 'word '.repeat(INPUT_WORDS);
          const question = { protocol, model: `${PROVIDERS[target]}/m`, text, stream, signal: leaving.signal };
          const left = assert.rejects(ask(gateway, question));
          while (upstream.calls.length === asked) await new Promise((resolve) => setTimeout(resolve, 5));
          leaving.abort();
          await left;
          const line = await nextLeft();
          const record = await recordOf(gateway.url, line.requestId);
          assert.deepEqual([record.status, record.cancelled, record.tokens_completion], ['cancelled', true, 0]);
          assert.ok(record.tokens_prompt >= LEAST_INPUT, `${record.tokens_prompt} tokens`);
          assert.ok(record.total_cost >= LEAST_INPUT / 1e6);
          assert.equal(line.cost, String(record.total_cost), 'the log says the same');
          costs.push(record.total_cost);
        }
      }
      return `${Math.min(...costs)} to ${Math.max(...costs)} USD`;
    },
  );
}

/** Whether a character of a text is cheap, by its place from 0 to 1; the others are dear. */
const LAYOUTS: Record<string, (place: number) => boolean> = {
  'cheap where each eighth begins': (place) => (place * 8) % 1 < 0.135,
  'cheap where each eighth ends': (place) => (place * 8) % 1 > 0.865,
  'cheap and dear in turn, 512 times': (place) => (place * 512) % 1 < 0.5,
  'cheap at both ends': (place) => place < 0.1 || place > 0.9,
};
const CHARACTERS = 1_000_000;
/** A text of so many characters is counted whole. */
const COUNTED_CHARACTERS = 100_000;

attack(
  AREA,
  {
    by: 'key holder',
    attempt: `leaving after ${CHARACTERS} characters, ${Object.keys(LAYOUTS).length} ways of cheap ones where a sample might look and dear ones elsewhere`,
    bound: 'charged within 25 % of what is counted of the same text in small parts',
  },
  async () => {
    const shares: number[] = [];
    for (const [name, isCheap] of Object.entries(LAYOUTS)) {
      let text = scene('hang');
      while (text.length < CHARACTERS) text += isCheap(text.length / CHARACTERS) ? 'a' : '🙂';
      const parts = Array.from({ length: Math.ceil(text.length / COUNTED_CHARACTERS) }, (_, index) => ({
        type: 'text' as const,
        text: text.slice(index * COUNTED_CHARACTERS, (index + 1) * COUNTED_CHARACTERS),
      }));
      const counted = estimateTokens({ stream: false, turns: [{ role: 'user', parts }], tools: [], dropped: [] });
      const asked = upstream.calls.length;
      const leaving = new AbortController();
      const left = assert.rejects(ask(gateway, { protocol: 'chat', model: 'a/m', text, signal: leaving.signal }));
      while (upstream.calls.length === asked) await new Promise((resolve) => setTimeout(resolve, 5));
      leaving.abort();
      await left;
      const record = await recordOf(gateway.url, (await nextLeft()).requestId);
      const share = record.tokens_prompt / counted;
      assert.ok(Math.abs(share - 1) <= 0.25, `${name}: ${record.tokens_prompt} of ${counted} tokens`);
      shares.push(Math.round(share * 100));
    }
    return `${Math.min(...shares)} to ${Math.max(...shares)} %`;
  },
);

/** Lines of the log about clients that left, as far as they were looked at. */
const seen: Json[] = [];

async function nextLeft(): Promise<Json> {
  for (;;) {
    const lines = gateway.log.filter((line) => line.status === 'client-closed' && !seen.includes(line));
    const [line] = lines;
    if (line) {
      seen.push(line);
      return line;
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

attack(
  AREA,
  { by: 'key holder', attempt: 'a request that no upstream answers in time', bound: 'the input is charged, once' },
  async () => {
    const { status, id } = await hear(gateway.url, { protocol: 'chat', model: 'a/m', text: scene('hang') });
    const record = await recordOf(gateway.url, id);
    assert.deepEqual([status, record.status, record.error_code], [504, 'failed', 'timeout']);
    assert.ok(record.tokens_prompt > 0 && record.total_cost > 0 && record.tokens_completion === 0);
    return `${record.total_cost} USD`;
  },
);

for (const name of ['cut', 'silent', 'early'] as const) {
  const words = {
    cut: 'a stream that is cut and reports nothing',
    silent: 'a whole stream that reports nothing',
    early: 'a stream that reports one token when it begins, and nothing at its end',
  };
  attack(
    AREA,
    { by: 'upstream', attempt: words[name], bound: 'charged within 15 % of what a translation of it is' },
    async () => {
      const ids = name === 'early' ? (['messages'] as const) : IDS;
      const figures: string[] = [];
      for (const target of ids) {
        const model = `${PROVIDERS[target]}/m`;
        const other = target === 'chat' ? 'messages' : 'chat';
        const tokens = async (protocol: ProtocolId): Promise<number> => {
          const { id } = await hear(gateway.url, { protocol, model, text: scene(name), stream: true });
          const record = await recordOf(gateway.url, id);
          assert.equal(record.tokens_estimated, true);
          return record.tokens_completion;
        };
        const relayed = await tokens(target);
        const translated = name === 'early' ? await expected() : await tokens(other);
        assert.ok(translated > 700, `${translated} tokens`);
        assert.ok(Math.abs(relayed / translated - 1) <= 0.15, `${relayed} and ${translated} tokens`);
        figures.push(`${relayed}/${translated}`);
      }
      return `${figures.join(', ')} tokens`;
    },
  );
}

/** What the same words cost where nothing is reported. */
async function expected(): Promise<number> {
  const { id } = await hear(gateway.url, { protocol: 'chat', model: 'b/m', text: scene('silent'), stream: true });
  return (await recordOf(gateway.url, id)).tokens_completion;
}

const COUNTED = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
/** By the catalog. */
const CATALOG = 0.0002;

async function costOf(question: { model: string; usage: Json | string; stream: boolean; protocol?: ProtocolId }) {
  const { model, usage, stream, protocol = 'chat' } = question;
  const heard: Heard = await hear(gateway.url, { protocol, model, text: scene('usage', usage), stream });
  assert.equal(heard.status, 200, heard.text);
  const record = await recordOf(gateway.url, heard.id);
  const told = stream ? heard.trailers['x-polygate-cost'] : heard.headers['x-polygate-cost'];
  const shown = /"cost":\s*([\d.e-]+)/.exec(heard.text)?.[1];
  if (protocol === 'chat') assert.equal(Number(shown), record.total_cost, heard.text);
  assert.equal(Number(told), record.total_cost);
  return record;
}

const BILLED: [string, Json, number][] = [
  ['bills/m', { ...COUNTED, cost: 0.0076, server_tool_use: { web_search_requests: 1 } }, 0.0076],
  ['bills/m', { ...COUNTED, cost: 0.0001, is_byok: true, cost_details: { upstream_inference_cost: 0.002 } }, 0.0021],
  ['bills/m', { ...COUNTED, cost: 0 }, 0],
  ['ticks/m', { ...COUNTED, cost_in_usd_ticks: 5_411_000 }, 0.0005411],
  ['a/m', { ...COUNTED, cost: 0.0076 }, CATALOG],
  ['a/m', { ...COUNTED, cost_in_usd_ticks: 5_411_000 }, CATALOG],
];

attack(
  AREA,
  {
    by: 'upstream',
    attempt: 'a bill that is not what the catalog says',
    bound: 'charged and shown where the provider bills by it, and nowhere else',
  },
  async () => {
    for (const [model, usage, cost] of BILLED) {
      for (const stream of [false, true]) {
        for (const protocol of ['chat', 'messages'] as const) {
          assert.equal((await costOf({ model, usage, stream, protocol })).total_cost, cost, `${model} ${protocol}`);
        }
      }
    }
    return `${BILLED.length * 4} answers`;
  },
);

const ABSURD = ['9000000', '-1', '1e999', '"1"', '5000.01', '1e300'];

attack(
  AREA,
  {
    by: 'upstream',
    attempt: `a bill of ${ABSURD.join(', ')} USD`,
    bound: 'the catalog’s price is charged, and the cost is unknown where there is none',
  },
  async () => {
    for (const cost of ABSURD) {
      const usage = JSON.stringify({ ...COUNTED, cost: 'X' }).replace('"X"', cost);
      assert.equal((await costOf({ model: 'bills/m', usage, stream: true })).total_cost, CATALOG, cost);
      const text = scene('usage', usage);
      const { id, headers } = await hear(gateway.url, { protocol: 'chat', model: 'free/m', text });
      assert.equal(headers['x-polygate-cost'], undefined);
      assert.equal((await recordOf(gateway.url, id)).total_cost, null);
    }
    return 'held';
  },
);

attack(
  AREA,
  {
    by: 'upstream',
    attempt: 'counts of 1e12 tokens and searches',
    bound: '1e9 tokens and 5,000 USD a record at most; the key’s use and budget stay readable',
  },
  async () => {
    const usage = { prompt_tokens: 1e12, completion_tokens: 1e12, num_search_queries: 1e12 };
    for (let count = 0; count < 5; count++) {
      const record = await costOf({ model: 'a/m', usage, stream: false });
      const { total_cost, tokens_prompt, tokens_completion, num_search_results } = record;
      assert.deepEqual(
        [total_cost, tokens_prompt, tokens_completion, num_search_results],
        [5000, MAX_TOKENS, MAX_TOKENS, MAX_TOKENS],
      );
    }
    for (const path of ['/v1/usage', '/v1/key']) assert.equal((await get(gateway.url, path)).status, 200);
    return 'held';
  },
);
