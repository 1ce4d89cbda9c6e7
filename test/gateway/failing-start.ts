/**
 * Process that starts a gateway several times, each of which fails at another place, and then ends by itself. Prints the place, the
 * error, the number of timers that are left, and which journal is free: `<folder>`.
 */

import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { basename, join } from 'node:path';
import { parseConfig } from '../../src/config/load.ts';
import { type Clock, systemClock } from '../../src/core/clock.ts';
import { startGateway } from '../../src/gateway/gateway.ts';
import { openKeyStore } from '../../src/keys/store.ts';
import { providerTypes } from '../../src/providers/index.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store, StoreOperationName } from '../../src/store/store.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { takeJournalFolder } from '../../src/usage/journal/folder.ts';
import { freePort } from '../chaos/gateway.ts';
import { breakableDisk } from '../usage/journal/disks.ts';

interface Place {
  name: string;
  yaml?: string;
  port?: number;
  /** Operation of the store that fails. */
  operation?: StoreOperationName;
  /** Calls of it before the one that fails. */
  before?: number;
  /** Whether a request is answered before it fails whose record no disk takes. */
  hasRecord?: boolean;
}

const KEY = 'sk-test-gateway-key-0123456789';

const [folder = ''] = process.argv.slice(2);
const store = await openStore({ data: folder, role: 'owner' });
/** Takes connections, and never answers. */
const silent = createServer((socket: Socket) => socket.on('error', () => undefined).unref()).listen(0, '127.0.0.1');
await once(silent, 'listening');
silent.unref();
const { port: used } = silent.address() as AddressInfo;

// Looks like that of a process that is gone.
mkdirSync(join(folder, 'journal', '2'), { recursive: true });

const places: Place[] = [
  { name: 'encryption', operation: 'scanSecrets' },
  { name: 'heartbeat', operation: 'heartbeat' },
  { name: 'recovery', operation: 'recoverUsage' },
  { name: 'journal', operation: 'journalPosition' },
  { name: 'abandoned journal', operation: 'journalPosition', before: 1 },
  { name: 'tags', operation: 'readTagAllotments' },
  { name: 'address', port: used },
  { name: 'admin', yaml: `admin: { token: a-long-admin-token-of-a-test-of-32-characters, port: ${used} }` },
  { name: 'tasks', operation: 'ensureJob' },
  { name: 'a record that waits', operation: 'ensureJob', port: await freePort(), hasRecord: true },
];

for (const { name, yaml = '', port = 0, operation, before = 0, hasRecord = false } of places) {
  const timers = new Set<object>();
  const clock: Clock = {
    ...systemClock,
    after(milliseconds, callback, options) {
      const timer = {};
      timers.add(timer);
      const end = () => timers.delete(timer);
      const cancel = systemClock.after(
        milliseconds,
        () => {
          end();
          callback();
        },
        options,
      );
      return () => {
        end();
        cancel();
      };
    },
  };
  const text = `data: ${folder}
keys: [{ name: test, key: ${KEY} }]
providers: { silent: { type: openai-compatible, base_url: "http://127.0.0.1:${used}/v1" } }
${yaml}`;
  const config = parseConfig(text, { environment: {}, known: providerTypes, port });
  const keys = await openKeyStore({ store, folder, configured: config.keys });
  const disk = breakableDisk();
  const ask = async () => {
    disk.fail = 'EROFS';
    await answerOf(port);
  };
  const error: Error = await startGateway({
    config,
    keys,
    store: operation === undefined ? store : failingAt(operation, before, hasRecord ? ask : undefined),
    journalDisk: disk,
    log: createLog({ write: () => undefined }, 'debug'),
    version: 'test',
    clock,
  }).then(
    () => new Error('it started'),
    (failure) => failure,
  );
  await keys.close();
  const journal = takeJournalFolder(join(folder, 'journal'));
  journal.release();
  const left = { timers: timers.size, journal: basename(journal.path) };
  process.stdout.write(`${JSON.stringify({ place: name, problem: error.message, ...left })}\n`);
}
await store.close();

function failingAt(operation: StoreOperationName, before: number, first = async () => {}): Store {
  let left = before;
  const call: Store['call'] = async (name, parameters) => {
    if (name !== operation || left-- !== 0) return store.call(name, parameters);
    await first();
    throw new StoreUnavailable(`no ${name}`);
  };
  return { ...store, call };
}

async function answerOf(port: number): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] }),
  });
  if (!response.ok) throw new Error(await response.text());
  await response.text();
}
