/**
 * Benchmark of usage accounting on PostgreSQL, without HTTP: CPU time of the server and of this process for each request.
 * `node bench/usage-postgres.ts [TREE ...]`: source trees to compare, which are measured in turns on one server.
 */

import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { pino } from 'pino';
import type { Store } from '../src/store/store.ts';
import type { createRecorder } from '../src/usage/recorder.ts';
import { query, startPrimary } from '../test/chaos/postgres-cluster.ts';
import { openStage } from '../test/chaos/stage.ts';

const { CONNECTIONS = '32', KEYS = '1', REQUESTS = '6000', ROUNDS = '4' } = process.env;
/** Of a clock tick in `/proc`. */
const TICK_US = 10_000;
const MODELS = ['gpt-5', 'gpt-5-mini', 'claude'];

interface Subject {
  name: string;
  store: Store;
  recorder: ReturnType<typeof createRecorder>;
  server: number[];
  own: number[];
}

const { stage, close } = openStage();
const server = await startPrimary(stage, ['shared_buffers=128MB']);
const postmaster = await postmasterOf(server.url);
const trees = process.argv.length > 2 ? process.argv.slice(2) : ['.'];
const subjects: Subject[] = [];
for (const [index, tree] of trees.entries()) subjects.push(await open(tree, `bench_${index}`));
try {
  for (let round = 0; round <= Number(ROUNDS); round++) {
    for (const subject of subjects) {
      const before = { server: serverTicks(), own: process.cpuUsage() };
      await load(subject, Number(REQUESTS));
      const own = process.cpuUsage(before.own);
      if (round === 0) continue;
      subject.server.push(((serverTicks() - before.server) * TICK_US) / Number(REQUESTS));
      subject.own.push((own.user + own.system) / Number(REQUESTS));
    }
  }
  for (const { name, server, own } of subjects) {
    const text = `server ${mean(server)} us, gateway ${mean(own)} us a request`;
    process.stdout.write(`${name.padEnd(30)} ${text} (server ${server.map(Math.round).join(' ')})\n`);
  }
} finally {
  for (const { store, recorder } of subjects) {
    await recorder.close(5000);
    await store.close();
  }
  await close();
}

async function open(tree: string, database: string): Promise<Subject> {
  const source = resolve(tree, 'src');
  const { openPostgres } = await import(join(source, 'store/postgres/store.ts'));
  const { Secret } = await import(join(source, 'security/secret.ts'));
  const { MIGRATIONS_FOLDER } = await import(join(source, 'store/migrations.ts'));
  const { createRecorder } = await import(join(source, 'usage/recorder.ts'));
  await query(server.url, `CREATE DATABASE ${database}`);
  const url = new Secret(server.url.replace(/postgres$/, database));
  const operations = new URL(`file://${join(source, 'store/operations/index.ts')}`);
  const store: Store = await openPostgres({ url, operations, migrations: MIGRATIONS_FOLDER });
  const now = Date.now();
  await store.call('heartbeat', { id: 'bench', now, until: now + 3_600_000, exclusive: false });
  const log = pino({ level: 'silent' });
  const recorder = createRecorder({ store, instance: 'bench', durability: 'strict', log });
  return { name: tree, store, recorder, server: [], own: [] };
}

async function load({ recorder }: Subject, requests: number): Promise<void> {
  let left = requests;
  async function client(): Promise<void> {
    while (left-- > 0) {
      const startedAt = Date.now();
      const id = `req_${startedAt.toString(16).padStart(12, '0')}${randomBytes(10).toString('hex')}`;
      const model = MODELS[left % MODELS.length] as string;
      const intent = {
        ...{ id, startedAt, keyId: `key-${left % Number(KEYS)}`, tags: '', model: `openai/${model}` },
        ...{ endpoint: { provider: 'openai', model }, protocolIn: 'chat', protocolOut: 'chat', stream: false },
        estimate: { input: 100, cost: 100n },
      };
      await recorder.begin(intent);
      await turn();
      await recorder.finish(intent, {
        ...{ endpoint: { provider: 'openai', model }, protocolOut: 'chat', status: 'completed', finish: 'stop' },
        ...{ usage: { input: 120, output: 30, cached: 20 }, cost: 1_500_000_000n, attempts: 1, firstByte: 40 },
        ...{ total: 90, upstreamId: `chatcmpl-${id.slice(-20)}` },
      });
    }
  }
  await Promise.all(Array.from({ length: Number(CONNECTIONS) }, client));
  await recorder.flushed();
}

async function postmasterOf(url: string): Promise<number> {
  const [row] = (await query(url, "SELECT pg_read_file('postmaster.pid') AS text")) as { text: string }[];
  return Number.parseInt(row?.text ?? '', 10);
}

/** User and system time of the server's processes, those that have ended included. */
function serverTicks(): number {
  let ticks = 0;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const fields = statOf(pid);
    if (Number(pid) === postmaster) ticks += [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0);
    else if (Number(fields[1]) === postmaster) ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks;
}

/** Fields of `/proc/<pid>/stat` after the name: state, parent, ... */
function statOf(pid: string): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}

function mean(list: readonly number[]): string {
  return (list.reduce((sum, one) => sum + one, 0) / list.length).toFixed(0);
}
