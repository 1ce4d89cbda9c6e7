/**
 * A process that records requests until it is killed: `<engine> <data> <recorder> <durability> <seed> <count>`. It prints a line
 * for each step that is durable: `begun <index>`, `ended <index>`, `video <index> <revision>`.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { Secret } from '../../src/security/secret.ts';
import { MIGRATIONS_FOLDER } from '../../src/store/migrations.ts';
import { openPostgres } from '../../src/store/postgres/store.ts';
import { openSqlite } from '../../src/store/sqlite/store.ts';
import { openJournalRecorder } from '../../src/usage/journal-recorder.ts';
import { createRecorder, type Recorder } from '../../src/usage/recorder.ts';
import { requestsOf, videoRow } from './exact-requests.ts';

const [engine, data = '', root = '', kind, durability, seed, count] = process.argv.slice(2);
const CLIENTS = 8;
const PAUSE_MS = 10;

const operations = new URL('../../src/store/operations/index.ts', import.meta.url);
const modules = { operations, migrations: MIGRATIONS_FOLDER };
const store = await (engine === 'postgres'
  ? openPostgres({ url: new Secret(data), ...modules })
  : openSqlite({ folder: data, role: 'owner', ...modules }));
const log = pino({ level: 'silent' });
const own = { store, durability: durability as 'strict' | 'batched', log };
const instance = `process-${seed}`;
const now = store.now();
await store.call('heartbeat', { id: instance, now, until: now + 1000, exclusive: engine !== 'postgres' });
const recorder: Recorder =
  kind === 'journal' ? await openJournalRecorder({ ...own, root }) : createRecorder({ ...own, instance });

const print = (line: string) => void process.stdout.write(`${line}\n`);
const requests = requestsOf(Number(seed), Number(count)).entries();

async function client(): Promise<void> {
  for (const [index, made] of requests) {
    const { intent, ending, completion, costs } = made;
    if (ending === 'video') {
      for (let revision = 1; revision <= costs.length; revision++) {
        await store.call('recordTaskUsage', { row: videoRow(made, revision), held: revision < costs.length });
        print(`video ${index} ${revision}`);
      }
      continue;
    }
    // Longer in all than the intervals at which records are written.
    await pause(PAUSE_MS);
    await recorder.begin(intent);
    print(`begun ${index}`);
    if (ending === 'withdrawn') recorder.withdraw(intent);
    if (ending !== 'ends') continue;
    await recorder.finish(intent, completion);
    print(`ended ${index}`);
  }
}

await Promise.all(Array.from({ length: CLIENTS }, client));
print('all');
setInterval(() => undefined, 1000);
