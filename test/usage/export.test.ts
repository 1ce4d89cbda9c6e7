/** Export of usage records by the hour: each in exactly one object, whatever ends between any two steps. */

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { createS3Requests } from '../../src/net/s3-requests.ts';
import { createTrustedClient } from '../../src/net/trusted-client.ts';
import { Secret } from '../../src/security/secret.ts';
import type { Store } from '../../src/store/store.ts';
import { createExporter } from '../../src/usage/export/exporter.ts';
import { createFolderTarget } from '../../src/usage/export/folder-target.ts';
import { createS3Target } from '../../src/usage/export/s3-target.ts';
import type { ExportTarget } from '../../src/usage/export/target.ts';
import { createRecorder } from '../../src/usage/recorder.ts';
import { codeIn } from '../docs/markdown.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { forEachStore } from '../store/stores.ts';
import { completion, intent, NOON } from './records.ts';

const HOUR_MS = 3_600_000;
const KEEP_MS = 30 * 24 * HOUR_MS;
/** Ends any lease. */
const LEASE_MS = 10 * 60_000;

async function record(store: Store, ids: readonly string[], startedAt = NOON, tags = ''): Promise<void> {
  const recorder = createRecorder({ store, instance: 'one', durability: 'batched', log: pino({ level: 'silent' }) });
  for (const id of ids) await recorder.finish(intent(id, { startedAt, tags }), completion());
  await recorder.close(10_000);
}

function temporary(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'polygate-export-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Ids of the records, by object. */
function objectsIn(folder: string): Record<string, string[]> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(jsonl|partial)$/.test(name))
    .sort();
  return Object.fromEntries(
    names.map((name) => [name.replaceAll('\\', '/'), idsOf(readFileSync(join(folder, name), 'utf8'))]),
  );
}

function idsOf(text: string): string[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).id);
}

forEachStore((name, open) => {
  test(`an hour is exported when it is over, and late records follow in objects of their own (${name})`, async (context) => {
    const store = await open(context);
    const folder = temporary(context);
    const clock = createManualClock(NOON + HOUR_MS);
    const exporter = createExporter({ store, target: createFolderTarget(folder), holder: 'a', clock, maxRecords: 2 });
    await record(store, ['c', 'a', 'b'], NOON + 5);
    await record(store, ['next'], NOON + HOUR_MS);
    assert.equal(await exporter.run(KEEP_MS), 0);
    clock.advance(5 * 60_000);
    assert.equal(await exporter.run(KEEP_MS), 3);
    const first = {
      'date=2026-11-18/hour=12/part-0000.jsonl': ['a', 'b'],
      'date=2026-11-18/hour=12/part-0001.jsonl': ['c'],
    };
    assert.deepEqual(objectsIn(folder), first);
    assert.equal(await exporter.run(KEEP_MS), 0);
    await record(store, ['0-late'], NOON + HOUR_MS - 1);
    assert.equal(await exporter.run(KEEP_MS), 1);
    assert.equal(await exporter.run(KEEP_MS), 0);
    assert.deepEqual(objectsIn(folder), { ...first, 'date=2026-11-18/hour=12/part-0002.jsonl': ['0-late'] });
  });

  test(`a line has the facts of a record (${name})`, async (context) => {
    const store = await open(context);
    const folder = temporary(context);
    await record(store, ['one'], NOON, 'env=prod team=search');
    const clock = createManualClock(NOON + 2 * HOUR_MS);
    await createExporter({ store, target: createFolderTarget(folder), holder: 'a', clock }).run(KEEP_MS);
    const line = readFileSync(join(folder, 'date=2026-11-18/hour=12/part-0000.jsonl'), 'utf8');
    const [shown = ''] = codeIn('docs/usage-export.md', 'json');
    assert.deepEqual(Object.keys(JSON.parse(line)), Object.keys(JSON.parse(shown)));
    assert.deepEqual(JSON.parse(line), {
      ...{ id: 'one', started_at: '2026-11-18T12:00:00.000Z', key_id: 'key-1', model: 'openai/gpt-5' },
      ...{
        endpoint_provider: 'openai',
        endpoint_model: 'gpt-5',
        protocol_in: 'chat',
        protocol_out: 'chat',
        stream: true,
      },
      ...{ status: 'completed', error_code: null, finish: 'stop', attempts: 1 },
      ...{ input_tokens: 120, output_tokens: 30, cached_tokens: 20, cache_write_tokens: 0, reasoning_tokens: 0 },
      ...{ audio_tokens: 0, searches: 0, estimated: false, cost: '0.0015' },
      ...{ first_byte_ms: 40, total_ms: 90, upstream_id: 'chatcmpl-1' },
      tool_failures: null,
      tags: { env: 'prod', team: 'search' },
    });
  });

  test(`what ends between any two steps loses nothing and repeats nothing (${name})`, async (context) => {
    const store = await open(context);
    const clock = createManualClock(NOON);
    let ended = true;
    for (let steps = 1; ended; steps++) {
      const folder = temporary(context);
      const ids = Array.from({ length: 5 }, (_, index) => `${steps}-${index}`);
      await record(store, ids, clock.now());
      clock.advance(2 * HOUR_MS);
      for (const isDone of [false, true]) {
        ended = false;
        const counter = createFuse(steps, isDone, () => {
          ended = true;
        });
        const options = { holder: `${steps} ${isDone}`, clock, maxRecords: 2 };
        const target = counter.guard(createFolderTarget(folder));
        await createExporter({ store: counter.guard({ call: store.call }), target, ...options })
          .run(KEEP_MS)
          .catch((error) => assert.equal(error.message, 'the end'));
        await record(store, [`${steps} ${isDone}`], clock.now() - 2 * HOUR_MS);
        clock.advance(LEASE_MS);
      }
      await createExporter({ store, target: createFolderTarget(folder), holder: 'last', clock, maxRecords: 2 }).run(
        KEEP_MS,
      );
      clock.advance(HOUR_MS);
      await createExporter({ store, target: createFolderTarget(folder), holder: 'last', clock, maxRecords: 2 }).run(
        KEEP_MS,
      );
      const exported = Object.values(objectsIn(folder)).flat().sort();
      assert.deepEqual(exported, [...ids, `${steps} false`, `${steps} true`].sort(), `after ${steps} steps`);
    }
  });

  test(`of several gateways one exports, until its lease ends (${name})`, async (context) => {
    const store = await open(context);
    const folder = temporary(context);
    const clock = createManualClock(NOON + 2 * HOUR_MS);
    await record(store, ['a', 'b', 'c']);
    const gateways = ['one', 'two', 'three'].map((holder) =>
      createExporter({ store, target: createFolderTarget(folder), holder, clock }),
    );
    const written = await Promise.all(gateways.map((gateway) => gateway.run(KEEP_MS)));
    assert.deepEqual(written.sort(), [0, 0, 3]);
    await record(store, ['d']);
    clock.advance(LEASE_MS);
    const later = await Promise.all(gateways.map((gateway) => gateway.run(KEEP_MS)));
    assert.deepEqual(later.sort(), [0, 0, 1]);
    assert.deepEqual(Object.values(objectsIn(folder)), [['a', 'b', 'c'], ['d']]);
  });

  test(`to an object store, of which objects are created and never replaced (${name})`, async (context) => {
    const store = await open(context);
    const bucket = await startBucket(context);
    const clock = createManualClock(NOON + 2 * HOUR_MS);
    await record(store, ['a', 'b']);
    const target = bucket.target(clock.now);
    bucket.loseNextResponse();
    const exporter = createExporter({ store, target, holder: 'one', clock });
    await assert.rejects(exporter.run(KEEP_MS), /status 500/);
    assert.equal(await exporter.run(KEEP_MS), 0);
    await record(store, ['c']);
    assert.equal(await exporter.run(KEEP_MS), 1);
    const prefix = '/usage/gate/date%3D2026-11-18/hour%3D12/part-000';
    assert.deepEqual(
      [...bucket.objects].map(([path, text]) => [path, idsOf(text)]),
      [
        [`${prefix}0.jsonl`, ['a', 'b']],
        [`${prefix}1.jsonl`, ['c']],
      ],
    );
    assert.equal(await target.create('date=2026-11-18/hour=12/part-0000.jsonl', Buffer.from('other')), false);
  });
});

test('what a killed gateway has left in a folder goes, and is no object', async (context) => {
  const folder = temporary(context);
  mkdirSync(join(folder, 'hour'));
  writeFileSync(join(folder, 'hour', 'left.partial'), '{"id":');
  const target = createFolderTarget(folder);
  assert.equal(await target.read('hour/part-0000.jsonl'), undefined);
  assert.equal(await target.create('hour/part-0000.jsonl', Buffer.from('{"id":"a"}\n')), true);
  assert.equal(await target.create('hour/part-0000.jsonl', Buffer.from('{"id":"b"}\n')), false);
  assert.deepEqual(objectsIn(folder), { 'hour/part-0000.jsonl': ['a'] });
});

test('the code of a refusal is named, and a body without one or without an end is not read further', async (context) => {
  const bucket = await startBucket(context);
  const target = bucket.target(Date.now);
  for (const [body, words] of [
    ['<Error><Code>RequestTimeTooSkewed</Code></Error>', 'status 403 (RequestTimeTooSkewed).'],
    ['<Error><Code>no code</Code></Error>', 'status 403.'],
    ['', 'status 403.'],
    [`${' '.repeat(1024 * 1024)}<Code>Late</Code>`, 'status 403.'],
  ] as const) {
    bucket.refuse(body);
    const message = `The object store for usage records answered with ${words}`;
    await assert.rejects(target.create('part', Buffer.from('{}')), { message });
    await assert.rejects(target.read('part'), { message });
  }
});

/** Throws at a step: before it has an effect, or after. */
function createFuse(steps: number, isDone: boolean, onEnd: () => void) {
  let left = steps;
  async function step<Result>(work: () => Promise<Result>): Promise<Result> {
    left -= 1;
    const result = left === 0 && !isDone ? undefined : await work();
    if (left > 0 || left < 0) return result as Result;
    onEnd();
    throw new Error('the end');
  }
  return {
    guard<Guarded extends object>(guarded: Guarded): Guarded {
      return new Proxy(guarded, {
        get: (inner, member, receiver) => {
          const value = Reflect.get(inner, member, receiver);
          return typeof value === 'function' ? (...args: unknown[]) => step(() => value.apply(inner, args)) : value;
        },
      });
    },
  };
}

/** A bucket that refuses to replace an object, as S3 does when it is asked to. */
async function startBucket(context: TestContext) {
  const objects = new Map<string, string>();
  let losesNext = false;
  let refusal: string | undefined;
  const server = createServer(async (request, response) => {
    const body = (await buffer(request)).toString();
    const path = request.url ?? '';
    assert.match(request.headers.authorization ?? '', /^AWS4-HMAC-SHA256 Credential=id\//);
    if (refusal !== undefined) response.writeHead(403).end(refusal);
    else if (request.method === 'GET') {
      const text = objects.get(path);
      response.writeHead(text === undefined ? 404 : 200).end(text);
    } else if (request.headers['if-none-match'] === '*' && objects.has(path)) response.writeHead(412).end();
    else {
      objects.set(path, body);
      response.writeHead(losesNext ? 500 : 200).end();
      losesNext = false;
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = createTrustedClient();
  context.after(async () => {
    await client.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const account = { accessKeyId: 'id', secretAccessKey: new Secret('secret') };
  const place = { endpoint, region: 'eu-central-1', bucket: 'usage', prefix: 'gate/', pathStyle: true };
  return {
    objects,
    loseNextResponse() {
      losesNext = true;
    },
    refuse(body: string) {
      refusal = body;
    },
    target: (now: () => number): ExportTarget =>
      createS3Target(createS3Requests({ ...place, ...account }, now), client),
  };
}
