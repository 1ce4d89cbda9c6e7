/**
 * Times of the dashboard's questions over many records: a gateway as a program on a seeded store, after it has summed up the days.
 * Each question is asked several times over HTTP, with other values each time.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { delay, freePort, startChild, temporaryFolder } from '../host/children.ts';
import { processorTime } from '../host/proc.ts';
import { median } from '../measure.ts';
import { bundledProgram } from '../subjects/program.ts';
import type { BudgetLine } from './budget-line.ts';
import { DAYS, questionsUntil, ZONE } from './questions.ts';
import { seed } from './seed.ts';
import { type Engine, openSeededStore } from './stores.ts';

const ROOT = join(import.meta.dirname, '../..');
const ROUNDS = 9;
const TOKEN = 'the-token-of-the-benchmark-0123456789';
/** The same for a store that stays. */
const ENCRYPTION_KEY = Buffer.alloc(32, 'benchmark').toString('base64');
/** Days that are summed up: those of UTC, and of the zone of one question. */
const DAILY_SUMS = 'SELECT count(*) AS n FROM usage_day_state WHERE complete = 1';
const LOOK_INTERVAL_MS = 5000;
const MAX_LOOKS = 240;

export interface ApiRun {
  engine: Engine;
  /** Folder or URL of a store that stays, and is seeded only if it is empty. */
  place?: string | undefined;
  /** Records of the store. */
  count: number;
  say(text: string): void;
}

/** Processor time of the gateway and of the database's server for a question, which is judged; elapsed time beside it. */
export async function measureApi({ engine, place, count, say }: ApiRun): Promise<BudgetLine[]> {
  const folder = temporaryFolder();
  const store = await openSeededStore(engine, place, folder);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/admin/v1`;
  writeFileSync(
    join(folder, 'polygate.yaml'),
    `data: ${store.data}\nserver: { port: 0 }\nencryption: { key: ${ENCRYPTION_KEY} }\nadmin: { token: ${TOKEN}, port: ${port} }\nusage: { keep: 3650d }\n`,
  );
  const main = await bundledProgram(ROOT);
  const start = () => startChild(process.execPath, [main, 'serve'], { folder });
  // A first start makes the tables.
  const first = start();
  await first.output(/Ctrl-C/);
  await first.stop();
  if ((await store.count('SELECT count(*) AS n FROM (SELECT 1 FROM usage_request LIMIT 1) AS found')) === 0)
    await seed(store, { count, last: Date.now() - 60_000, say: (text) => say(`${engine}: ${text}`) });
  const last = await store.count('SELECT max(ended_at) AS n FROM usage_request');
  const gateway = start();
  await gateway.output(/Ctrl-C/);
  await ask(`${url}/usage?by=day&zone=${ZONE}`);
  say(`${engine}: waits for daily sums`);
  for (let looks = 0; (await store.count(DAILY_SUMS)) < 2 * (DAYS - 2); looks++) {
    if (looks === MAX_LOOKS) throw new Error('the days are not summed up');
    await delay(LOOK_INTERVAL_MS);
  }
  const lines: BudgetLine[] = [];
  for (const { title, path, mostMs } of questionsUntil(last)) {
    await ask(`${url}/${path(ROUNDS)}`);
    const times: number[] = [];
    const used = () => processorTime(gateway.pid) + store.serverTime();
    const before = used();
    for (let round = 0; round < ROUNDS; round++) {
      const startedAt = performance.now();
      await ask(`${url}/${path(round)}`);
      times.push(performance.now() - startedAt);
    }
    const value = (used() - before) / ROUNDS / 1000;
    const note = `elapsed ${median(times).toFixed(0)} ms, at most ${Math.max(...times).toFixed(0)}`;
    lines.push({ what: `${engine}: ${title}`, value, most: mostMs, unit: 'ms', note });
    say(`${engine}: ${title}: ${value.toFixed(0)} ms, ${note}`);
  }
  await gateway.stop();
  await store.close();
  return lines;
}

async function ask(url: string): Promise<void> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${TOKEN}` } });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`);
}
