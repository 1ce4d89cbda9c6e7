/** Every surface, fed with the worst shape for each step before a request is admitted: nobody else waits, and memory follows the body. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { after, before } from 'node:test';
import { createRouteTable, type Route } from '../../src/http/route-table.ts';
import { protocolOf } from '../../src/protocols/index.ts';
import type { WireId } from '../faults/wires.ts';
import { HEADERS, startTestGateway } from '../gateway/harness.ts';
import { attack } from './attack.ts';
import { type MeasuredGateway, startMeasuredGateway } from './loop-measure.ts';
import { BODY_BYTES, SHAPES, type Shape, type Way } from './shapes.ts';

const MEBIBYTE = 1024 * 1024;
/** What is promised, and what a busy machine may make of it beyond what the measure takes out: caches are shared. */
const HOLD_MS = 50;
const NOISE_MS = 25;
/** Memory that requests leave behind until it is collected, besides four times the body. */
const GARBAGE_BYTES = 96 * MEBIBYTE;
const ADMIN_TOKEN = 'sk-test-admin-token-0123456789abcdef';

let gateway: MeasuredGateway;

before(async () => {
  gateway = await startMeasuredGateway(`admin: { port: 0, token: ${ADMIN_TOKEN} }`);
});
after(() => gateway.close());

interface Sent {
  method: string;
  /** From the address of the gateway, or of its admin API. */
  path: string;
  headers: Record<string, string>;
  body?: Buffer;
  admin?: boolean;
}

/** The status, or 0 where the gateway closed the connection. Headers are not looked at, as `fetch` would. */
function send({ method, path, headers, body, admin }: Sent): Promise<number> {
  const { hostname, port } = new URL(admin ? gateway.adminUrl : gateway.url);
  return new Promise((resolve) => {
    const outgoing = request({ method, path, headers, hostname, port, agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    });
    outgoing.on('error', () => resolve(0));
    outgoing.end(body);
  });
}

async function cost(sent: readonly Sent[]): Promise<string> {
  let worst = 0;
  let most = 0;
  const statuses = new Set<number>();
  for (const one of sent) {
    const within = 4 * (one.body?.length ?? 0) + GARBAGE_BYTES;
    const { holdMs, bytes } = await gateway.measure(
      async () => {
        const status = await send(one);
        // An endpoint that rests after failures would be asked nothing.
        assert.ok(status < 500, `${status} for ${one.method} ${one.path.slice(0, 80)}`);
        statuses.add(status);
      },
      (measured) => measured.holdMs < HOLD_MS && measured.bytes < within,
    );
    const where = `${one.method} ${one.path.slice(0, 80)}`;
    assert.ok(holdMs < HOLD_MS + NOISE_MS, `${where}: ${holdMs} ms`);
    assert.ok(bytes < within, `${where}: ${bytes} bytes for a body of ${one.body?.length ?? 0}`);
    worst = Math.max(worst, holdMs);
    most = Math.max(most, bytes);
  }
  return `${worst.toFixed(0)} ms, ${(most / MEBIBYTE).toFixed(0)} MiB, ${[...statuses].sort().join(' or ')}`;
}

const JSON_TYPE = { 'content-type': 'application/json' };
const BOUND = `the event loop is held ${HOLD_MS} ms at most, memory grows by 4 times the body at most, besides garbage`;

/** The same protocol, a dialect of it, translated, counted. */
const WAYS: readonly Way[] = [
  ['chat', 'a/m', 'generate'],
  ['chat', 'mistral/m', 'generate'],
  ['chat', 'b/m', 'generate'],
  ['messages', 'c/m', 'generate'],
  ['generate', 'a/m', 'generate'],
  ['messages', 'a/m', 'count'],
  ['generate', 'b/m', 'count'],
  ['responses', 'a/m', 'generate'],
  ['responses', 'b/m', 'generate'],
  ['responses', 'c/m', 'count'],
];

const COUNT_PATHS = {
  chat: () => '/v1/chat/completions/input_tokens',
  messages: () => '/anthropic/v1/messages/count_tokens',
  generate: (model: string) => `/gemini/v1beta/models/${model}:countTokens`,
  responses: () => '/v1/responses/input_tokens',
};
const PATHS = {
  chat: () => '/v1/chat/completions',
  messages: () => '/anthropic/v1/messages',
  generate: (model: string) => `/gemini/v1beta/models/${model}:generateContent`,
  responses: () => '/v1/responses',
};
const headersOf = (protocol: WireId): Record<string, string> => HEADERS[protocol === 'responses' ? 'chat' : protocol];

function bytesOf(shape: Shape, protocol: WireId, model: string): Buffer {
  const made = shape.make(protocol);
  if (typeof made !== 'string') return Buffer.from(JSON.stringify(protocol === 'generate' ? made : { model, ...made }));
  return Buffer.from(protocol === 'generate' ? made : `{"model":"${model}",${made.slice(1)}`);
}

/** Each shape goes some of the ways, so that all are gone often and the file stays quick. */
const WAYS_PER_SHAPE = 3;

for (const [index, shape] of SHAPES.entries()) {
  const ways = shape.ways ?? WAYS.filter((_, way) => (way + index) % WAYS.length < WAYS_PER_SHAPE);
  attack(
    'surfaces',
    {
      by: 'key holder',
      attempt: `${shape.step}: ${shape.name}, on ${shape.ways ? 'its' : 'all'} protocols`,
      bound: BOUND,
    },
    () =>
      cost(
        ways.map(([protocol, model, action]) => ({
          method: 'POST',
          path: (action === 'count' ? COUNT_PATHS : PATHS)[protocol](model),
          headers: { ...JSON_TYPE, ...headersOf(protocol) },
          body: bytesOf(shape, protocol, model),
        })),
      ),
  );
}

const video = (more: object): Buffer => Buffer.from(JSON.stringify({ model: 'sandbox/video', prompt: 'x', ...more }));
const creation = (body: Buffer, type = 'application/json'): Sent => ({
  method: 'POST',
  path: '/v1/videos',
  headers: { ...HEADERS.chat, 'content-type': type },
  body,
});
const part = (index: number): string => `--b\r\ncontent-disposition: form-data; name="f${index}"\r\n\r\n1\r\n`;
const form = (parts: readonly string[]): Buffer => Buffer.from(`${parts.join('')}--b--\r\n`);
const many = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => make(index));
const get = (path: string, headers: Record<string, string> = HEADERS.chat): Sent => ({ method: 'GET', path, headers });

const HEAD = 12_000;
const OTHERS: Record<string, readonly Sent[]> = {
  'video creation: references, options, texts and images': [
    creation(video({ input_references: many(30_000, () => ({ type: 'image_url', image_url: 'https://e.com/' })) })),
    creation(
      video({ provider: { options: { sandbox: Object.fromEntries(many(9_000, (index) => [`o${index}`, 1])) } } }),
    ),
    creation(video({ prompt: 'p'.repeat(BODY_BYTES) })),
    creation(video({ input_reference: `data:image/png;base64,${'iVBORw0KGgoA'.repeat(BODY_BYTES / 12)}` })),
    creation(video({ input_reference: `data:${';'.repeat(BODY_BYTES - 1000)},x` })),
    creation(video({ input_reference: `https://${'a.'.repeat(BODY_BYTES / 2 - 1000)}` })),
    creation(video({ size: '1'.repeat(BODY_BYTES - 1000) })),
    creation(video({ metadata: Object.fromEntries(many(9_000, (index) => [`m${index}`, 'x'])) })),
  ],
  'video creation: forms': [
    creation(form(many(250_000, part)), 'multipart/form-data; boundary=b'),
    creation(form(many(250_000, part)), 'multipart/form-data; x="; boundary=y"; boundary=b'),
    creation(form(many(250_000, part)), String.raw`multipart/form-data; boundary="\b"`),
    creation(
      form([`--b\r\ncontent-disposition: form-data; name="${'[a]'.repeat(1_000_000)}"\r\n\r\n1\r\n`]),
      'multipart/form-data; boundary=b',
    ),
    creation(
      form([
        `--b\r\ncontent-disposition: form-data; name="input_reference"; filename="a"\r\n\r\n${'x'.repeat(BODY_BYTES - 1000)}\r\n`,
      ]),
      'multipart/form-data; boundary=b',
    ),
  ],
  'queries of catalogs, usage and videos': [
    get(`/v1/models?${'&after=x'.repeat(HEAD / 8)}`),
    get(`/v1/models/${'a/'.repeat(HEAD / 2)}`),
    get(`/v1/usage?by=${'day,'.repeat(HEAD / 4)}`),
    get(`/v1/usage?from=${'T'.repeat(HEAD)}`),
    get(`/v1/videos?after=${'v'.repeat(HEAD)}`),
    get(`/gemini/v1beta/models?pageToken=${'%41'.repeat(HEAD / 3)}`, HEADERS.generate),
  ],
  'paths and headers': [
    get(`/${'%2e%2e/'.repeat(HEAD / 7)}`),
    get(`/v1/${'/'.repeat(HEAD)}`),
    get(`/gemini/v1beta/models/${':'.repeat(HEAD)}`, HEADERS.generate),
    get('/v1/models', { authorization: `Bearer ${'k '.repeat(HEAD / 2)}` }),
    get('/v1/models', { ...HEADERS.chat, 'x-forwarded-for': '1,'.repeat(HEAD / 2) }),
    get('/v1/models', { ...HEADERS.chat, ...Object.fromEntries(many(900, (index) => [`x-h${index}`, '1'])) }),
  ],
  'the admin API': [
    get(`/${'%2e/'.repeat(HEAD / 4)}`),
    get(`/admin/v1/usage?by=${'key,'.repeat(HEAD / 4)}`),
    {
      method: 'POST',
      path: '/admin/v1/keys',
      headers: JSON_TYPE,
      body: Buffer.from(JSON.stringify({ name: 'n'.repeat(BODY_BYTES) })),
    },
    {
      method: 'POST',
      path: '/admin/v1/keys',
      headers: JSON_TYPE,
      body: Buffer.from(JSON.stringify({ name: 'n', models: many(90_000, () => '*a*') })),
    },
  ].map((one) => ({ ...one, admin: true, headers: { ...one.headers, authorization: `Bearer ${ADMIN_TOKEN}` } })),
};

const PATHS_TRIED = 20;

attack(
  'surfaces',
  {
    by: 'stranger',
    attempt: 'paths of 15,000 segments at which nothing is',
    bound: 'each is refused within 2 ms of processor time, with as many routes as the gateway has',
  },
  async () => {
    const answer = await fetch(`${gateway.url}/openapi.json`);
    const { paths } = (await answer.json()) as { paths: object };
    const routes = Object.keys(paths).map((path) => ({ path, protocol: protocolOf('chat'), match: () => undefined }));
    const table = createRouteTable(routes as unknown as Route[], protocolOf('chat'));
    const before = process.threadCpuUsage();
    for (let tries = 0; tries < PATHS_TRIED; tries++) {
      const found = table.find('GET', '/v1'.repeat(5000) + '/'.repeat(10_000), new URLSearchParams());
      assert.equal(found.route, undefined);
    }
    const { user, system } = process.threadCpuUsage(before);
    const each = (user + system) / 1000 / PATHS_TRIED;
    assert.ok(each < 2, `${each} ms`);
    return `${each.toFixed(1)} ms with ${routes.length} routes`;
  },
);

attack(
  'surfaces',
  {
    by: 'stranger',
    attempt: 'the metrics without a token, by a page whose name was made to lead to loopback',
    bound: 'refused; a scraper by address or as localhost reads them',
  },
  async () => {
    const open = await startTestGateway();
    const statuses: number[] = [];
    try {
      const { hostname, port } = new URL(open.url);
      const own = [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`, 'LOCALHOST'];
      for (const host of [...own, `rebound.example:${port}`, 'localhost.example', '127.0.0.1.example']) {
        const outgoing = request({ path: '/metrics', hostname, port, headers: { host }, agent: false }).end();
        const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
        response.resume();
        statuses.push(response.statusCode ?? 0);
      }
    } finally {
      await open.close();
    }
    assert.deepEqual(statuses, [200, 200, 200, 200, 403, 403, 403]);
    return '403';
  },
);

for (const [name, sent] of Object.entries(OTHERS)) {
  attack('surfaces', { by: 'key holder', attempt: `worst shapes for ${name}`, bound: BOUND }, () => cost(sent));
}
