/** The release before this version beside it on one store, under load, forwards and back: no request fails, nothing is lost. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { providePostgres } from '../store/postgres-server.ts';
import { startBalancer } from './balancer.ts';
import { startLoad } from './load.ts';
import { expectAllDone, expectPartsOfBoth, KEY, prepare } from './stage.ts';
import { bothVersions, type Gateway, type Version } from './versions.ts';

const OPTIONS = { timeout: 280_000 };
/** Between two steps of an upgrade. */
const ANSWERS = 30;

test('on PostgreSQL two gateways are replaced one after the other, and back', OPTIONS, async (context) => {
  const database = await providePostgres();
  const versions = await bothVersions(context);
  context.after(() => database.close());
  const encryption = `encryption: { key: "${randomBytes(32).toString('base64')}" }`;
  const receiver = await prepare(context, versions.folder, `data: ${database.url}\n${encryption}`);
  const balancer = await startBalancer(context);
  const { release, current } = versions;
  const running: Gateway[] = [];
  async function add(version: Version): Promise<void> {
    const gateway = await versions.start(version);
    balancer.add(gateway.url);
    await balancer.ready(gateway.url);
    running.push(gateway);
  }
  async function stopOldest(): Promise<void> {
    const gateway = running.shift() ?? assert.fail();
    await gateway.stop();
    balancer.remove(gateway.url);
  }
  await add(release);
  await add(release);
  const load = startLoad({ url: balancer.url, key: KEY, hook: `https://127.0.0.1:${receiver.port}/` });
  await load.more(ANSWERS);
  // The fourth is the release again, started anew on the store that this version has migrated.
  for (const version of [current, release, current, current, release, release]) {
    await add(version);
    await load.more(ANSWERS);
    await stopOldest();
    await load.more(ANSWERS);
  }
  assert.deepEqual(
    running.map(({ name }) => name),
    ['release', 'release'],
  );
  await load.stop();
  await expectAllDone(load, receiver);
});

test('on SQLite a gateway is replaced by the other version in its place, and back', OPTIONS, async (context) => {
  const versions = await bothVersions(context);
  const receiver = await prepare(context, versions.folder);
  const port = await freePort();
  const { release, current } = versions;
  let isReplaced = false;
  const start = (version: Version) => versions.start(version, ['--port', String(port)]);
  let gateway = await start(release);
  const load = startLoad({
    url: `http://127.0.0.1:${port}`,
    key: KEY,
    hook: `https://127.0.0.1:${receiver.port}/`,
    mayRetry: () => isReplaced,
  });
  await load.more(ANSWERS);
  for (const version of [current, release, current]) {
    isReplaced = true;
    await gateway.stop();
    gateway = await start(version);
    isReplaced = false;
    await load.more(ANSWERS);
  }
  await load.stop();
  await expectAllDone(load, receiver);
  await expectPartsOfBoth(load);
  await gateway.stop();
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? address.port : assert.fail();
}
