/** Clients that leave: in every phase the upstream's request is given up at once, and nothing of it stays behind. */

import assert from 'node:assert/strict';
import { type ClientRequest, type IncomingMessage, request as openRequest, type ServerResponse } from 'node:http';
import { after, before, describe, test } from 'node:test';
import {
  answerJson,
  ask,
  HEADERS,
  PATHS,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
  type UpstreamCall,
} from '../gateway/harness.ts';
import { requestOf, WIRES, type Wire, type WireId } from './wires.ts';

const PROVIDERS: Record<WireId, string> = { chat: 'a', messages: 'b', generate: 'c', responses: 'e' };
const IDS = Object.keys(PROVIDERS) as WireId[];

/** Milliseconds, for a busy machine. */
const PROMPT = 60_000;

interface Phase {
  stream: boolean;
  answer(response: ServerResponse, wire: Wire): void;
  /** The client leaves after its response began. */
  begun?: boolean;
}

const PHASES: Record<string, Phase> = {
  'waiting for a stream': { stream: true, answer: () => {} },
  'before the first event': {
    stream: true,
    answer: (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders(),
  },
  'in the middle of a stream': {
    stream: true,
    answer: (response, wire) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(wire.head),
    begun: true,
  },
  'waiting for a whole response': { stream: false, answer: () => {} },
  'in the middle of a whole response': {
    stream: false,
    answer: (response, wire) =>
      void response
        .writeHead(200, { 'content-type': 'application/json' })
        .write(JSON.stringify(wire.whole).slice(0, 50)),
  },
};

let upstream: TestUpstream;
let gateway: TestGateway;
let fetching = Promise.withResolvers<AbortSignal | undefined>();
let listing = Promise.withResolvers<ServerResponse>();

/** Settles with the call that carries this text, once the upstream has begun to answer it. */
const arrivals = new Map<string, PromiseWithResolvers<UpstreamCall>>();

/** The intervals that run: a deadline that nobody cancels keeps one. */
const intervals = new Set<unknown>();
/** Those of the gateway itself. */
let standing = 0;
const { setInterval: startInterval, clearInterval: stopInterval } = globalThis;
const warnings: Error[] = [];

before(async () => {
  process.on('warning', (warning) => warnings.push(warning));
  globalThis.setInterval = ((...parameters: Parameters<typeof startInterval>) => {
    const interval = startInterval(...parameters);
    intervals.add(interval);
    return interval;
  }) as typeof startInterval;
  globalThis.clearInterval = (interval) => {
    intervals.delete(interval);
    stopInterval(interval);
  };
  let isFirstList = true;
  upstream = await startUpstream((call, response) => {
    if (call.path.endsWith('/models')) {
      if (!isFirstList) return listing.resolve(response);
      isFirstList = false;
      return answerJson(response, { data: [] });
    }
    const [text = '', phase = ''] = /<.*?: (.*?)>/.exec(call.bytes.toString()) ?? [];
    const protocol = IDS.find((name) => call.path.toLowerCase().includes(name)) ?? 'chat';
    if (phase === 'not at all') return answerJson(response, WIRES[protocol].whole);
    PHASES[phase]?.answer(response, WIRES[protocol]);
    arrivals.get(text)?.resolve(call);
  });
  gateway = await startTestGateway(
    `
server: { keep_alive: 100ms }
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m }] }
  b: { type: anthropic, base_url: "${upstream.url}", api_key: k, models: [{ id: m }] }
  c: { type: google, base_url: "${upstream.url}", api_key: k, models: [{ id: m }] }
  d: { type: openai-compatible, base_url: "${upstream.url}/late", models: discover }
  e: { type: open-responses, base_url: "${upstream.url}/v1", models: [{ id: m }] }
`,
    {
      fetchBytes: (_url, { signal }) =>
        new Promise((_resolve, reject) => {
          fetching.resolve(signal);
          signal?.addEventListener('abort', () => reject(signal.reason));
        }),
    },
  );
  standing = intervals.size;
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

interface Question {
  protocol: WireId;
  model: string;
  text: string;
  stream: boolean;
}

function open({ protocol, model, text, stream }: Question): {
  request: ClientRequest;
  begun: Promise<IncomingMessage>;
} {
  const { path, headers: given, body } = requestOf(protocol, { model, text, stream });
  const headers = { 'content-type': 'application/json', ...given };
  const request = openRequest(gateway.url + path, { method: 'POST', headers });
  request.on('error', () => {});
  const begun = new Promise<IncomingMessage>((resolve) => request.on('response', resolve));
  request.end(JSON.stringify(body));
  return { request, begun };
}

/** Fails when nothing was heard in time. */
async function inTime<Value>(work: Promise<Value>): Promise<{ value: Value; milliseconds: number }> {
  const started = performance.now();
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`nothing happened within ${PROMPT} ms`)), PROMPT);
  const value = await Promise.race([work, late.promise]);
  clearTimeout(timer);
  return { value, milliseconds: performance.now() - started };
}

const measured: number[] = [];
/** Some forty times as long as where nothing else takes the processor. */
const MAX_MEDIAN_MS = 250;

for (const protocol of IDS) {
  for (const target of IDS) {
    const pair = `${protocol} from ${target}`;
    describe(`84: a client of ${pair} leaves`, () => {
      for (const [name, phase] of Object.entries(PHASES)) {
        test(name, async () => {
          const text = `<${pair}: ${name}>`;
          const arrival = Promise.withResolvers<UpstreamCall>();
          arrivals.set(text, arrival);
          const model = `${PROVIDERS[target]}/m`;
          const { request, begun } = open({ protocol, model, text, stream: phase.stream });
          const call = await arrival.promise;
          if (phase.begun) await begun;
          request.destroy();
          const { value, milliseconds } = await inTime(call.closed);
          assert.equal(value, 'aborted');
          measured.push(milliseconds);
        });
      }
    });
  }
}

describe('84: a client leaves before there is an upstream request', () => {
  test('while an image is fetched for it', async () => {
    fetching = Promise.withResolvers();
    const body = {
      model: 'c/m',
      messages: [
        {
          role: 'user',
          content: [{ type: 'image_url', image_url: { url: 'https://example.com/of-unknown-kind' } }],
        },
      ],
    };
    const headers = { 'content-type': 'application/json', ...HEADERS.chat };
    const request = openRequest(gateway.url + PATHS.chat(), { method: 'POST', headers });
    request.on('error', () => {});
    request.end(JSON.stringify(body));
    const signal = (await fetching.promise) ?? assert.fail('no signal');
    const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    const asked = upstream.calls.length;
    request.destroy();
    const { milliseconds } = await inTime(aborted);
    measured.push(milliseconds);
    assert.equal(upstream.calls.length, asked);
  });

  test('while the provider is asked for its models', async () => {
    listing = Promise.withResolvers();
    const text = `
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m }] }
  d: { type: openai-compatible, base_url: "${upstream.url}/late", models: discover }
`;
    gateway.reload(text);
    const list = await listing.promise;
    const { request } = open({ protocol: 'chat', model: 'd/m', text: 'hi', stream: true });
    const left = new Promise<void>((resolve) => request.on('close', resolve));
    await ask(gateway, { protocol: 'chat', model: 'a/m', text: '<x: not at all>' });
    request.destroy();
    await left;
    await ask(gateway, { protocol: 'chat', model: 'a/m', text: '<x: not at all>' });
    const seen = gateway.log.length;
    answerJson(list, { data: [{ id: 'm' }] });
    const isLogged = () => gateway.log.slice(seen).some(({ status }) => status === 'client-closed');
    for (let turns = 0; turns < 10_000 && !isLogged(); turns++) await new Promise((resolve) => setImmediate(resolve));
    assert.ok(isLogged());
    assert.ok(!upstream.calls.some(({ path }) => path === '/late/chat/completions'));
  });
});

describe('what stays of clients that left', () => {
  test('no deadline runs any more', async () => {
    const response = await ask(gateway, { protocol: 'chat', model: 'a/m', text: '<x: not at all>' });
    await response.text();
    assert.equal(intervals.size, standing);
  });

  test('nothing is logged as a problem', () => {
    assert.deepEqual(
      gateway.log.filter(({ level }) => level >= 40),
      [],
    );
    assert.equal(gateway.log.filter(({ status }) => status === 'client-closed').length, measured.length + 1);
  });

  test('nothing listens for ever', async () => {
    for (let count = 0; count < 15; count++) {
      const response = await ask(gateway, { protocol: 'messages', model: 'a/m', text: '<x: not at all>' });
      await response.text();
    }
    assert.deepEqual(warnings, []);
  });

  test('how soon upstreams hear of it', (context) => {
    measured.sort((one, other) => one - other);
    const median = measured[measured.length >> 1] ?? 0;
    const worst = measured.at(-1) ?? 0;
    assert.ok(measured.length > 0 && median < MAX_MEDIAN_MS, `median ${median} ms of ${measured.length}`);
    context.diagnostic(`median ${median.toFixed(1)} ms, worst ${worst.toFixed(1)} ms of ${measured.length}`);
  });
});
