/** A store that cannot be written: full, locked, read-only, away, slow. */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { providePostgres } from '../../store/postgres-server.ts';
import { startProxy } from '../../store/proxy.ts';
import { atLeast, atMost, exactly, type Figure, noted, notRun } from '../figures.ts';
import { ask, type Gateway, startGateway } from '../gateway.ts';
import { type Hooks, startHooks } from '../hooks.ts';
import { pause, type Scenario, type Stage, within } from '../stage.ts';
import { openData, openDatabase, owe } from '../store.ts';

const LOCKED = 30_000;
const AWAY = 20_000;
const READ_ONLY = 8000;
const RECOVERY = 5;
const LATER = 40;

export const brokenStore: Scenario = {
  id: 'broken-store',
  title: 'A store that cannot be written',
  how:
    `Tasks are created without a pause, and ${LATER} webhooks become due: while another process locks the files for ${LOCKED / 1000} s; while the disk is full (a small tmpfs); while PostgreSQL ` +
    `cannot be reached for ${AWAY / 1000} s, and while it is read-only; and with a disk that takes 200 ms for every sync (strace). Liveness must hold, readiness must not, creations must be refused with 503 and Retry-After.`,
  patient: true,
  async run(stage) {
    const parts = [locked, full, away, readOnly, slow].map((part) => part(stage).catch(broken));
    return (await Promise.all(parts)).flat();
  },
};

/** One part that breaks leaves the others their figures. */
function broken(error: Error): Figure[] {
  return [exactly('a part of the scenario', error.message, 'no error')];
}

export interface Rig {
  name: string;
  folder: string;
  postgres?: string;
  /** What the gateway is started with. */
  under?: string[];
}

/** What a gateway says while its store is broken, and how soon all is well again. */
export async function endure(
  stage: Stage,
  rig: Rig,
  fault: { begin(gateway: Gateway): unknown; end(): unknown; lasts: number },
): Promise<Figure[]> {
  const { name, folder, postgres } = rig;
  const hooks = await startHooks(stage, 1);
  const store = await (postgres === undefined ? openData(folder) : openDatabase(postgres));
  const dueAt = Date.now() + 6000;
  const keys = await owe(store, { count: LATER, urls: hooks.urls, dueAt: (index) => dueAt + index * 100 });
  await store.close();
  const gateway = await startGateway(stage, rig);
  const seen = { refused: 0, wrong: 0, answered: 0, ready: 0, dead: 0, ids: [] as string[] };
  await create(gateway, seen);
  const before = seen.ids.length;
  await fault.begin(gateway);
  const began = performance.now();
  await pause(1500);
  while (performance.now() - began < fault.lasts) {
    await Promise.all([create(gateway, seen), look(gateway, seen)]);
    stage.say(`${name}: ${seen.refused} refused`);
    await pause(500);
  }
  const during = seen.ids.length - before;
  const sent = hooks.requests();
  await fault.end();
  const back = performance.now();
  await within(20_000, async () => (await ask(`${gateway.url}/readyz`).catch(() => undefined))?.status === 200);
  const readyAfter = (performance.now() - back) / 1000;
  await within(20_000, () => hooks.got.size >= LATER);
  const toldAfter = (performance.now() - back) / 1000;
  const afterwards = await ask(`${gateway.url}/v1/videos`, TASK).catch(() => died(gateway));
  await gateway.kill();
  return [
    atLeast(`${name}: creations refused with 503 and Retry-After`, seen.refused, 3),
    exactly(`${name}: answered otherwise, but created`, seen.wrong, 0),
    noted(`${name}: created all the same`, during),
    exactly(`${name}: said to be ready`, seen.ready, 0),
    exactly(`${name}: failed \`/healthz\` requests`, seen.dead, 0),
    atMost(`${name}: ready after its end`, readyAfter, RECOVERY, 's'),
    ...told(name, { hooks, keys, sent, toldAfter }),
    exactly(`${name}: status of a creation afterwards`, afterwards.status, 202),
    exactly(`${name}: acknowledged tasks missing`, await missing(rig, seen.ids), 0),
  ];
}

function told(
  name: string,
  { hooks, keys, sent, toldAfter }: { hooks: Hooks; keys: string[]; sent: number; toldAfter: number },
) {
  return [
    noted(`${name}: webhooks sent meanwhile`, sent),
    exactly(`${name}: webhooks lost`, keys.filter((key) => !hooks.got.has(key)).length, 0),
    exactly(`${name}: webhooks sent again`, hooks.requests() - hooks.got.size, 0),
    atMost(`${name}: all webhooks sent after its end`, toldAfter, RECOVERY, 's'),
  ];
}

function died(gateway: Gateway): never {
  throw new Error(`the gateway is gone: ${gateway.log().slice(-1000)}`);
}

const TASK = { model: 'sandbox/video', prompt: 'hang', duration: 1, resolution: '480p' };

interface Seen {
  refused: number;
  wrong: number;
  ready: number;
  dead: number;
  ids: string[];
}

async function create(gateway: Gateway, seen: Seen): Promise<void> {
  const response = await ask(`${gateway.url}/v1/videos`, TASK).catch(() => undefined);
  if (response?.status === 202) seen.ids.push(JSON.parse(response.text).id);
  else if (response?.status === 503 && Number(response.headers.get('retry-after')) > 0) seen.refused += 1;
  else seen.wrong += 1;
}

async function look(gateway: Gateway, seen: Seen): Promise<void> {
  const [alive, ready] = await Promise.all(
    ['healthz', 'readyz'].map((path) => ask(`${gateway.url}/${path}`).catch(() => undefined)),
  );
  if (alive?.status !== 200) seen.dead += 1;
  if (ready?.status !== 503) seen.ready += 1;
}

async function missing({ folder, postgres }: Rig, ids: readonly string[]): Promise<number> {
  const store = await (postgres === undefined ? openData(folder) : openDatabase(postgres));
  const known = new Set((await store.rows('SELECT id FROM video_task')).map(({ id }) => String(id)));
  await store.close();
  return ids.filter((id) => !known.has(id)).length;
}

async function locked(stage: Stage): Promise<Figure[]> {
  const folder = stage.folder();
  const program = join(import.meta.dirname, '../../store/sqlite-locker.ts');
  let locker: ReturnType<typeof spawn> | undefined;
  return endure(
    stage,
    { name: 'locked', folder },
    {
      lasts: LOCKED,
      async begin() {
        locker = spawn(process.execPath, [program, join(folder, 'data', 'state.db')], {
          stdio: ['pipe', 'pipe', 'inherit'],
        });
        stage.atEnd(() => locker?.kill('SIGKILL'));
        if (locker.stdout) await once(locker.stdout, 'data');
      },
      end: () => locker?.stdin?.end(),
    },
  );
}

async function full(stage: Stage): Promise<Figure[]> {
  const folder = stage.folder();
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'polygate-chaos', folder]);
  if (mounted.status !== 0) return [notRun('full disk', 'this user may not mount a tmpfs')];
  const unmount = () => void spawnSync('umount', ['-l', folder]);
  process.once('exit', unmount);
  stage.atEnd(() => {
    process.off('exit', unmount);
    unmount();
  });
  const filler = join(folder, 'filler');
  return endure(
    stage,
    { name: 'full disk', folder },
    {
      lasts: READ_ONLY,
      begin() {
        try {
          for (;;) writeFileSync(filler, Buffer.alloc(16_384), { flag: 'a' });
        } catch {
          // Now it is full.
        }
      },
      end: () => rmSync(filler),
    },
  );
}

async function away(stage: Stage): Promise<Figure[]> {
  const database = await providePostgres();
  stage.atEnd(database.close);
  const url = new URL(database.url);
  const proxy = await startProxy(url.hostname, Number(url.port));
  stage.atEnd(proxy.close);
  url.port = String(proxy.port);
  return endure(
    stage,
    { name: 'PostgreSQL away', folder: stage.folder(), postgres: url.href },
    {
      lasts: AWAY,
      begin: proxy.cut,
      end: proxy.mend,
    },
  );
}

async function readOnly(stage: Stage): Promise<Figure[]> {
  const database = await providePostgres();
  stage.atEnd(database.close);
  const name = new URL(database.url).pathname.slice(1);
  const administer = async (value: string) => {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    // Held by every session from its start, so those of the gateway have to begin again.
    await client.query('SET default_transaction_read_only = off');
    await client.query(`ALTER DATABASE ${name} SET default_transaction_read_only = ${value}`);
    await client.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    await client.end();
  };
  return endure(
    stage,
    { name: 'PostgreSQL read-only', folder: stage.folder(), postgres: database.url },
    {
      lasts: READ_ONLY,
      begin: () => administer('on'),
      end: () => administer('off'),
    },
  );
}

/** Group commit: many creations share one sync. */
async function slow(stage: Stage): Promise<Figure[]> {
  const syncs = 'fsync,fdatasync';
  const delay = ['-e', `trace=${syncs}`, '-e', `inject=${syncs}:delay_exit=200000`];
  const under = ['strace', '-D', '-f', '-qq', '-o', '/dev/null', ...delay];
  if (spawnSync('strace', ['-V']).status !== 0) return [notRun('slow disk', 'strace is not installed')];
  const gateway = await startGateway(stage, { folder: stage.folder(), under });
  const began = performance.now();
  const responses = await Promise.all(Array.from({ length: 100 }, () => ask(`${gateway.url}/v1/videos`, TASK)));
  const seconds = (performance.now() - began) / 1000;
  await gateway.kill();
  return [
    exactly('slow disk: creations accepted', responses.filter(({ status }) => status === 202).length, 100),
    atMost('slow disk: 100 creations at once', seconds, 5, 's'),
  ];
}
