/** Upstreams that fail in every way there is, behind every pair of protocols: the client always gets a well-formed end that tells the truth. */

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import {
  answerJson,
  createPermits,
  post,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from '../gateway/harness.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { directDisk } from '../usage/journal/disks.ts';
import {
  errorName,
  framesOf,
  type Heard,
  hear,
  type Kind,
  NAMES,
  nameInStream,
  requestOf,
  WIRES,
  type Wire,
  type WireId,
} from './wires.ts';

const FIRST_BYTE = 500;
const IDLE = 500;
const TOTAL = 1500;
/** A deadline passes up to so many milliseconds late. */
const TICK = 50;

interface Fault {
  /** `begun` settles when the client has got the first bytes of its response. */
  answer(response: ServerResponse, wire: Wire, begun: Promise<void>): void | Promise<void>;
  /** The answer is an error of this kind with its proper status. */
  refused?: Kind;
  /** The answer begins and ends with an error of this kind. */
  broken?: Kind;
  /** Seconds that the client is told to wait. */
  retryAfter?: [number, number];
  /** The same can happen to a response in one piece. */
  whole?: boolean;
}

function open(response: ServerResponse): ServerResponse {
  return response.writeHead(200, { 'content-type': 'text/event-stream' });
}

/** Begins well, and goes on when the client knows it. */
async function begin(response: ServerResponse, wire: Wire, begun: Promise<void>): Promise<void> {
  open(response).write(wire.head);
  await begun;
}

function json(response: ServerResponse, text: string, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(text);
}

function limited(headers: Record<string, string>): Fault['answer'] {
  return (response, wire) => answerJson(response, wire.error('limited'), 429, headers);
}

const FAULTS: Record<string, Fault> = {
  'never answers': { answer: () => {}, refused: 'timeout', whole: true },
  'sends its head and nothing more': {
    answer: (response) => open(response).flushHeaders(),
    refused: 'timeout',
  },
  'takes its time, within the deadline': {
    async answer(response, wire) {
      await wait(50);
      open(response).end(wire.head + wire.text('lo') + wire.tail);
    },
  },
  'closes without a response': { answer: (response) => void response.destroy(), refused: 'upstream', whole: true },
  'resets the connection in the middle': {
    async answer(response, wire, begun) {
      await begin(response, wire, begun);
      response.socket?.resetAndDestroy();
    },
    broken: 'upstream',
  },
  'closes within a frame': {
    async answer(response, wire, begun) {
      await begin(response, wire, begun);
      response.end(wire.text('lo').slice(0, 40));
    },
    broken: 'upstream',
  },
  'closes within a character': {
    async answer(response, wire, begun) {
      await begin(response, wire, begun);
      const frame = Buffer.from(wire.text('🦊'));
      response.end(frame.subarray(0, frame.indexOf('🦊') + 2));
    },
    broken: 'upstream',
  },
  'ends without its end mark': {
    async answer(response, wire, begun) {
      await begin(response, wire, begun);
      response.end(wire.text('lo'));
    },
    broken: 'upstream',
  },
  'stops in the middle and keeps the connection': { answer: begin, broken: 'timeout' },
  'goes on without end': {
    async answer(response, wire, begun) {
      const { take } = permits;
      await begin(response, wire, begun);
      while (!response.destroyed) {
        response.write(wire.text('.'));
        await take();
      }
    },
    broken: 'timeout',
  },
  'ends and then resets the connection': {
    async answer(response, wire, begun) {
      await begin(response, wire, begun);
      response.write(wire.text('lo') + wire.tail, () => response.socket?.resetAndDestroy());
    },
  },
  'ends and keeps the connection': {
    async answer(response, wire, begun) {
      await begin(response, wire, begun);
      response.write(wire.text('lo') + wire.tail);
    },
  },
  'sends garbage between frames': {
    async answer(response, wire, begun) {
      await begin(response, wire, begun);
      response.end(`data: {"this is": not JSON "error" "usage" }\n\n${wire.tail}`);
    },
    broken: 'upstream',
  },
  'sends an error in the middle': {
    async answer(response, wire, begun) {
      await begin(response, wire, begun);
      response.end(wire.errorEvent('overloaded') + wire.tail);
    },
    broken: 'overloaded',
  },
  'sends an error as its first event': {
    answer: (response, wire) => void open(response).end(wire.errorEvent('overloaded')),
    refused: 'overloaded',
  },
  'sends comments and then an error': {
    async answer(response, wire) {
      open(response).write(': processing\n\n');
      await wait(20);
      response.end(wire.errorEvent('limited'));
    },
    refused: 'limited',
  },
  'answers with an HTML page and 200': {
    answer: (response) =>
      void response.writeHead(200, { 'content-type': 'text/html' }).end('<html><body>Sign in</body></html>'),
    refused: 'upstream',
    whole: true,
  },
  'claims events and sends HTML': {
    answer: (response) => void open(response).end('<html><body>\n\nSign in</body></html>'),
    refused: 'upstream',
  },
  'answers with an error and 200': {
    answer: (response, wire) => answerJson(response, wire.error('overloaded')),
    refused: 'overloaded',
    whole: true,
  },
  'answers with half a body': {
    answer: (response, wire) => json(response, JSON.stringify(wire.whole).slice(0, -30)),
    refused: 'upstream',
    whole: true,
  },
  'breaks off half a body': {
    answer(response, wire) {
      const text = JSON.stringify(wire.whole);
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': text.length });
      response.write(text.slice(0, -30), () => response.socket?.resetAndDestroy());
    },
    refused: 'upstream',
    whole: true,
  },
  'answers with an array': { answer: (response) => json(response, '[]'), refused: 'upstream', whole: true },
  'answers with nothing and 200': { answer: (response) => json(response, ''), refused: 'upstream', whole: true },
  'answers with no events and 200': { answer: (response) => void open(response).end(), refused: 'upstream' },
  'answers in one piece': { answer: (response, wire) => answerJson(response, wire.whole), whole: true },
  'limits, with seconds to wait': {
    answer: limited({ 'retry-after': '7' }),
    refused: 'limited',
    retryAfter: [7, 7],
    whole: true,
  },
  'limits, with a date to wait for': {
    answer: (response, wire) =>
      limited({ 'retry-after': new Date(Date.now() + 20_000).toUTCString() })(response, wire, Promise.resolve()),
    refused: 'limited',
    retryAfter: [15, 20],
    whole: true,
  },
  'limits, with milliseconds to wait': {
    answer: limited({ 'retry-after-ms': '2500' }),
    refused: 'limited',
    retryAfter: [3, 3],
    whole: true,
  },
  'limits for a day': {
    answer: limited({ 'retry-after': '86400' }),
    refused: 'limited',
    retryAfter: [60, 60],
    whole: true,
  },
  'is overloaded (529)': {
    answer: (response) => json(response, '{"message":"Too busy."}', 529),
    refused: 'overloaded',
    whole: true,
  },
  'is overloaded (503)': {
    answer: (response) => json(response, '{}', 503),
    refused: 'overloaded',
    whole: true,
  },
  'fails with an HTML page': {
    answer: (response) =>
      void response.writeHead(500, { 'content-type': 'text/html' }).end('<h1>Internal Server Error</h1>'),
    refused: 'upstream',
    whole: true,
  },
  'fails with nothing': { answer: (response) => void response.writeHead(500).end(), refused: 'upstream', whole: true },
  'refuses the gateway’s key': {
    answer: (response) => answerJson(response, { error: { message: 'Bad key sk-secret-123456' } }, 401),
    refused: 'upstream',
    whole: true,
  },
  'redirects elsewhere': {
    answer: (response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
    refused: 'upstream',
    whole: true,
  },
};

const PROVIDERS: Record<WireId, string> = { chat: 'a', messages: 'b', generate: 'c', responses: 'd' };
const IDS = Object.keys(PROVIDERS) as WireId[];

interface Cut {
  /** In the question, by which the upstream knows it. */
  id: string;
  where: string;
  bytes: string;
  /** The answer is complete, although its upstream has more to say. */
  mayEnd: boolean;
}

/** Streams that end after each frame, and in the middle of it. */
function cutsOf(target: WireId): Cut[] {
  const frames = framesOf(WIRES[target]);
  return frames.flatMap((frame, index) => {
    const before = frames.slice(0, index).join('');
    const half = Math.floor(frame.length / 2);
    const isLast = index >= frames.length - 1 - Number(target === 'chat' || target === 'messages');
    const cut = (where: string, bytes: string): Cut => ({
      ...{ id: `cut: ${target} ${where}`, where, bytes },
      mayEnd: isLast,
    });
    return [cut(`within frame ${index}`, before + frame.slice(0, half)), cut(`after frame ${index}`, before + frame)];
  });
}

const PROTOCOLS = Object.keys(WIRES) as WireId[];
const CUTS = Object.fromEntries(PROTOCOLS.map((id) => [id, cutsOf(id)])) as Record<WireId, Cut[]>;

/** Clients by how they want a stream: the last as one JSON array. */
const CLIENTS = [
  ...IDS.map((protocol) => ({ protocol, array: false })),
  { protocol: 'generate' as const, array: true },
];

const begun = new Map<string, PromiseWithResolvers<void>>();
let upstream: TestUpstream;
/** An upstream that goes on without end takes one for each event. */
let permits = createPermits();
/** Its deadlines pass when the tests of deadlines move its clock, one test after the other. */
const clock = createManualClock(Date.now());
let timed: TestGateway;
/** All others, which may take their time on a busy machine. */
let patient: TestGateway;

before(async () => {
  upstream = await startUpstream(async (call, response) => {
    const [, id = '', fault = ''] = /<(.*?): (.*?)>/.exec(call.bytes.toString()) ?? [];
    const protocol = IDS.find((name) => call.path.toLowerCase().includes(name)) ?? assert.fail(call.path);
    const cut = id === 'cut' ? CUTS[protocol].find((one) => one.id === `cut: ${fault}`) : undefined;
    if (cut) return void open(response).end(cut.bytes);
    await FAULTS[fault]?.answer(response, WIRES[protocol], begun.get(`${id}: ${fault}`)?.promise ?? Promise.resolve());
  });
  const nobody = await startUpstream(() => {});
  await nobody.close();
  const providers = `
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m }] }
  b: { type: anthropic, base_url: "${upstream.url}", api_key: k, models: [{ id: m }] }
  c: { type: google, base_url: "${upstream.url}", api_key: k, models: [{ id: m }] }
  d: { type: open-responses, base_url: "${upstream.url}/v1", models: [{ id: m }] }
  a-gone: { type: openai-compatible, base_url: "${nobody.url}/v1", models: [{ id: m }] }
  b-gone: { type: anthropic, base_url: "${nobody.url}", api_key: k, models: [{ id: m }] }
  c-gone: { type: google, base_url: "${nobody.url}", api_key: k, models: [{ id: m }] }
  d-gone: { type: open-responses, base_url: "${nobody.url}/v1", models: [{ id: m }] }
`;
  const deadlines = `{ connect: 2s, first_byte: ${FIRST_BYTE}ms, idle: ${IDLE}ms, total: ${TOTAL}ms }`;
  timed = await startTestGateway(`server: { deadlines: ${deadlines}, keep_alive: 1h }${providers}`, { clock });
  patient = await startTestGateway(providers, { journalDisk: directDisk });
});

after(async () => {
  await timed.close();
  await patient.close();
  await upstream.close();
});

interface Ask {
  protocol: WireId;
  array: boolean;
  model: string;
  text: string;
  stream: boolean;
  kind?: Kind;
}

function ask({ protocol, array, model, text, stream, kind }: Ask): Promise<Response> {
  const { path, headers, body } = requestOf(protocol, { model, text, stream });
  const gateway = kind === 'timeout' ? timed : patient;
  return post(gateway.url + (array ? path.replace('?alt=sse', '') : path), body, headers);
}

async function readAll(response: Response, onChunk: (soFar: string) => void): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    onChunk(text);
  }
  return text;
}

/** The answer to a request whose upstream has it before its deadline passes. */
async function askTooLate(request: Ask): Promise<Response> {
  const before = upstream.calls.length;
  const asking = ask(request);
  while (upstream.calls.length === before) await wait(1);
  // Long enough for a head that the upstream sends at once.
  await wait(20);
  clock.advance(FIRST_BYTE + TICK);
  return asking;
}

async function assertRefused(response: Response, protocol: WireId, kind: Kind): Promise<void> {
  const text = await response.text();
  const [status, name] = NAMES[kind][protocol];
  const body = JSON.parse(text);
  assert.equal(errorName(protocol, body), name);
  assert.equal(response.status, status, text);
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
  assert.ok(response.headers.get(protocol === 'messages' ? 'request-id' : 'x-request-id'));
  assert.ok(!text.includes('sk-secret') && !text.includes('127.0.0.1') && !text.includes('<h'), text);
}

function assertBroken(heard: Heard, protocol: WireId, kind: Kind): void {
  assert.ok(heard.text.startsWith('Hel'));
  assert.equal(heard.error, nameInStream(protocol, kind));
  assert.equal(heard.success, false);
}

function assertWait(response: Response, [least, most]: [number, number]): void {
  const seconds = Number(response.headers.get('retry-after'));
  assert.ok(seconds >= least && seconds <= most, `${seconds} s`);
  const milliseconds = Number(response.headers.get('retry-after-ms'));
  assert.ok(milliseconds > (least - 1) * 1000 && milliseconds <= most * 1000, `${milliseconds} ms`);
}

function forEachPair(visit: (pair: string, client: (typeof CLIENTS)[number], target: WireId) => void): void {
  for (const client of CLIENTS) {
    for (const target of IDS)
      visit(`${client.array ? 'generate as an array' : client.protocol} from ${target}`, client, target);
  }
}

const kindOf = ({ refused, broken }: Fault): Kind | undefined => refused ?? broken;

describe('upstreams fail', { concurrency: true }, () => {
  forEachPair((pair, client, target) => {
    const { protocol, array } = client;
    describe(pair, { concurrency: 4 }, () => {
      for (const [name, fault] of Object.entries(FAULTS)) {
        const kind = kindOf(fault);
        if (kind === 'timeout') continue;
        const id = `${pair}: ${name}`;
        const request = { ...client, model: `${PROVIDERS[target]}/m`, text: `<${id}>`, kind };

        test(`a stream whose upstream ${name}`, async () => {
          const started = Promise.withResolvers<void>();
          begun.set(id, started);
          const response = await ask({ ...request, stream: true });
          if (fault.retryAfter) assertWait(response, fault.retryAfter);
          if (fault.refused) return assertRefused(response, protocol, fault.refused);
          assert.equal(response.status, 200);
          const heard = hear(protocol, await readAll(response, () => started.resolve()), array);
          if (fault.broken) assertBroken(heard, protocol, fault.broken);
          else assert.deepEqual(heard, { text: 'Hello', success: true });
        });

        if (!fault.whole || array) continue;
        test(`a whole response whose upstream ${name}`, async () => {
          const response = await ask({ ...request, stream: false });
          if (fault.retryAfter) assertWait(response, fault.retryAfter);
          if (fault.refused) return assertRefused(response, protocol, fault.refused);
          assert.equal(response.status, 200);
          assert.match(await response.text(), /Hello/);
        });
      }

      for (const cut of CUTS[target]) {
        test(`a stream that is cut off ${cut.where}`, async () => {
          const request = { ...client, model: `${PROVIDERS[target]}/m`, text: `<${cut.id}>`, stream: true };
          const response = await ask(request);
          if (response.status !== 200) return assertRefused(response, protocol, 'upstream');
          const heard = hear(protocol, await response.text(), array);
          assert.ok('Hello'.startsWith(heard.text));
          if (heard.error !== undefined) assert.equal(heard.error, nameInStream(protocol, 'upstream'));
          else assert.deepEqual([cut.mayEnd, heard], [true, { text: 'Hello', success: true }]);
        });
      }

      test('nobody listens where the upstream should be', async () => {
        const model = `${PROVIDERS[target]}-gone/m`;
        for (const stream of [true, false]) {
          await assertRefused(await ask({ ...client, model, text: 'hi', stream }), protocol, 'upstream');
        }
      });
    });
  });
});

describe('upstreams are too slow', () => {
  forEachPair((pair, client, target) => {
    const { protocol, array } = client;
    describe(pair, () => {
      for (const [name, fault] of Object.entries(FAULTS)) {
        const kind = kindOf(fault);
        if (kind !== 'timeout') continue;
        const id = `${pair}: ${name}`;
        const request = { ...client, model: `${PROVIDERS[target]}/m`, text: `<${id}>`, kind };

        test(`a stream whose upstream ${name}`, async () => {
          if (fault.refused) return assertRefused(await askTooLate({ ...request, stream: true }), protocol, 'timeout');
          const started = Promise.withResolvers<void>();
          begun.set(id, started);
          permits = createPermits();
          const response = await ask({ ...request, stream: true });
          assert.equal(response.status, 200);
          const from = clock.monotonic();
          const isEndless = name === 'goes on without end';
          let events = 0;
          const text = await readAll(response, (soFar) => {
            started.resolve();
            const received = soFar.match(/"(Hel|\.)"/g)?.length ?? 0;
            if (received === events) return;
            events = received;
            clock.advance(isEndless ? IDLE / 2 : IDLE + TICK);
            permits.give();
          });
          assertBroken(hear(protocol, text, array), protocol, 'timeout');
          const passed = clock.monotonic() - from;
          assert.ok(isEndless ? passed > TOTAL - IDLE : passed <= IDLE + TICK, `${passed} ms`);
        });

        if (!fault.whole || array) continue;
        test(`a whole response whose upstream ${name}`, async () => {
          await assertRefused(await askTooLate({ ...request, stream: false }), protocol, 'timeout');
        });
      }
    });
  });
});

test('nothing of all this was a bug of the gateway', () => {
  assert.deepEqual(
    [...patient.log, ...timed.log].filter(({ level, error }) => level >= 50 || error === 'internal_error'),
    [],
  );
});
