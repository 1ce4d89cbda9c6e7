/** Notifications of systemd: the states that its program is given, by a gateway that starts, lives and stops. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { program } from './program.ts';

const windows = process.platform === 'win32';

test('a service is told to be ready, alive and stopping, each by a call of systemd-notify', {
  skip: windows,
}, async (context) => {
  const { folder, start } = program(context);
  const calls = join(folder, 'calls');
  // Stands for systemd's program, which not every machine has.
  const script = `#!/bin/sh\necho "$NOTIFY_SOCKET $@" >> ${JSON.stringify(calls)}\n`;
  writeFileSync(join(folder, 'systemd-notify'), script, { mode: 0o755 });
  const environment = {
    PATH: `${folder}:${process.env.PATH}`,
    NOTIFY_SOCKET: '@polygate-test',
    WATCHDOG_USEC: '200000',
  };
  const gateway = start(['serve', '--port', '0'], environment);
  await gateway.shows(/Ctrl-C stops it/);
  const told = () => (existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : []);
  const giveUp = AbortSignal.timeout(20_000);
  while (!told().includes('@polygate-test WATCHDOG=1')) {
    giveUp.throwIfAborted();
    await new Promise(setImmediate);
  }
  gateway.signal('SIGTERM');
  const { code, stderr } = await gateway.ended;
  assert.equal(code, 0);
  assert.equal(told()[0], '@polygate-test READY=1');
  assert.ok(told().includes('@polygate-test STOPPING=1'), told().join('\n'));
  assert.ok(!stderr.includes('service manager'));
});

test('a gateway runs where the service manager cannot be told, and says so once', {
  skip: windows,
}, async (context) => {
  const { folder, start } = program(context);
  const environment = { PATH: folder, NOTIFY_SOCKET: '@polygate-test' };
  const gateway = start(['serve', '--port', '0'], environment);
  await gateway.shows(/the service manager cannot be notified/);
  gateway.signal('SIGTERM');
  const { code, stderr } = await gateway.ended;
  assert.deepEqual([code, stderr.match(/cannot be notified/g)?.length], [0, 1]);
});
