/**
 * Times of the dashboard's questions over millions of records: `node bench/million-requests.ts [RECORDS [ENGINE ...]]`. Seeds a
 * store, starts a gateway on it as a program, waits until it has summed up the days, and asks each question several times over
 * HTTP, with other values each time. An engine is `sqlite` or `postgres`, or `sqlite=FOLDER` or `postgres=URL` for a store that
 * stays and is seeded only if empty.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { delay, endEverything, freePort, startChild, temporaryFolder } from './host/children.ts';
import { processorTime } from './host/proc.ts';
import { median } from './measure.ts';
import { bundledProgram } from './subjects/program.ts';

const [records = '5000000', ...chosen] = process.argv.slice(2);
const COUNT = Number(records);
const ENGINES = chosen.length > 0 ? chosen : ['sqlite', 'postgres'];
const KEYS = 1000;
const TEAMS = 20;
const DAYS = 90;
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** The last record ends before the questions begin. */
const LAST = Date.now() - 60_000;
const FIRST = LAST - DAYS * DAY_MS;
const ROUNDS = 9;
const TOKEN = 'the-token-of-the-benchmark-0123456789';
/** The same for a store that stays. */
const ENCRYPTION_KEY = Buffer.alloc(32, 'benchmark').toString('base64');
const CHUNK = 100_000;
/** Days that are summed up: those of UTC, and of the zone of one question. */
const DAILY_SUMS = 'SELECT count(*) AS n FROM usage_day_state WHERE complete = 1';
const ZONE = 'Asia/Kolkata';
const LOOK_INTERVAL_MS = 5000;
const MAX_LOOKS = 240;

const iso = (moment: number): string => new Date(moment).toISOString();
const MONTH = `from=${iso(LAST - 30 * DAY_MS)}`;
/** The round makes each question a new one. */
const QUESTIONS: readonly [title: string, path: (round: number) => string][] = [
  ['newest requests', (round) => `requests?to=${iso(LAST - round * 1000)}`],
  ['requests of a time 60 days ago', (round) => `requests?to=${iso(LAST - 60 * DAY_MS - round * HOUR_MS)}`],
  ['requests of a busy key', (round) => `requests?key=key-${round}`],
  ['requests of a rare key', (round) => `requests?key=key-${500 + round}`],
  ['requests of a model', (round) => `requests?model=p${round % 6}/m-${round}`],
  ['requests of no model', (round) => `requests?model=p9/m-${round}`],
  ['failed requests', (round) => `requests?status=failed&to=${iso(LAST - round * HOUR_MS)}`],
  ['requests over 60 s, 1 in 10,000', (round) => `requests?slower_than=${60_000 + round}`],
  ['requests over 1 USD, none', (round) => `requests?cost_above=1.${round}`],
  ['summary of an hour', (round) => `requests/summary?from=${iso(LAST - (round + 1) * HOUR_MS)}`],
  ['use of 30 days by model', (round) => `usage?${MONTH}&by=model&top=${8 + round}`],
  ['use of 30 days by day and key', (round) => `usage?${MONTH}&by=day,key&top=${8 + round}`],
  ['use of 30 days by day in Kolkata', (round) => `usage?${MONTH}&by=day,model&zone=${ZONE}&top=${8 + round}`],
  ['use of 30 days by team', (round) => `usage?${MONTH}&by=tag:team&top=${8 + round}`],
  ['use of 30 days by key, failed', (round) => `usage?${MONTH}&by=key&status=failed&top=${8 + round}`],
  ['use of 90 days of a key by day', (round) => `usage?from=${iso(FIRST)}&by=day&key=key-${500 + round}`],
  ['use of 90 days by key and model', (round) => `usage?from=${iso(FIRST)}&by=key,model&top=${8 + round}`],
];

interface SeededStore {
  /** Configuration of the gateway. */
  data: string;
  run(statement: string): Promise<void>;
  /** Result of a statement in a column `n`. */
  count(statement: string): Promise<number>;
  /** Statements that only this engine needs before the records. */
  prepare: readonly string[];
  /** Rows with the numbers from `first` to `last` in a column `n`. */
  numbers(first: number, last: number): string;
  /** An integer as text, in hexadecimal. */
  hex(value: string, digits: number): string;
  close(): Promise<void>;
}

try {
  for (const engine of ENGINES) await measure(engine);
} finally {
  endEverything();
}

async function measure(engine: string): Promise<void> {
  const [name, place] = splitOnce(engine, '=');
  const folder = temporaryFolder();
  const store = name === 'postgres' ? await openPostgres(place) : openSqlite(place ?? join(folder, 'data'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/admin/v1`;
  writeFileSync(
    join(folder, 'polygate.yaml'),
    `data: ${store.data}\nserver: { port: 0 }\nencryption: { key: ${ENCRYPTION_KEY} }\nadmin: { token: ${TOKEN}, port: ${port} }\nusage: { keep: 3650d }\n`,
  );
  const main = await bundledProgram(process.cwd());
  const start = () => startChild(process.execPath, [main, 'serve'], { folder });
  // A first start makes the tables.
  const first = start();
  await first.output(/Ctrl-C/);
  await first.stop();
  if ((await store.count('SELECT count(*) AS n FROM (SELECT 1 FROM usage_request LIMIT 1) AS found')) === 0)
    await seed(store, name);
  const gateway = start();
  await gateway.output(/Ctrl-C/);
  await ask(`${url}/usage?by=day&zone=${ZONE}`);
  for (let looks = 0; (await store.count(DAILY_SUMS)) < 2 * (DAYS - 2); looks++) {
    if (looks === MAX_LOOKS) throw new Error('the days are not summed up');
    await delay(LOOK_INTERVAL_MS);
  }
  print(`${name}: ${COUNT.toLocaleString('en')} records of ${DAYS} days, ${KEYS} keys\n`);
  for (const [title, path] of QUESTIONS) {
    await ask(`${url}/${path(ROUNDS)}`);
    const times: number[] = [];
    const before = processorTime(gateway.pid);
    for (let round = 0; round < ROUNDS; round++) {
      const startedAt = performance.now();
      await ask(`${url}/${path(round)}`);
      times.push(performance.now() - startedAt);
    }
    const cpu = (processorTime(gateway.pid) - before) / ROUNDS / 1000;
    const cells = [median(times), Math.max(...times), cpu].map((time) => time.toFixed(1).padStart(9));
    print(`  ${title.padEnd(34)}${cells.join('')} ms (median, most, processor)\n`);
  }
  await gateway.stop();
  await store.close();
}

async function ask(url: string): Promise<void> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${TOKEN}` } });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`);
}

/** Half of all requests are of ten keys; a key uses three models; every fiftieth failed, and every ten-thousandth is slow. */
async function seed(store: SeededStore, engine: string): Promise<void> {
  const step = (DAYS * DAY_MS) / COUNT;
  const at = `CAST(${FIRST} + n * ${step.toFixed(6)} AS bigint)`;
  const trace = { attempts: [{ endpoint: 'p1/m-1', at: 2, status: 200, first: 380, end: 1250 }], candidates: [] };
  const key = `(CASE WHEN n % 2 = 0 THEN n / 2 % 10 ELSE n * 7919 % ${KEYS} END)`;
  const model = `((${key} + n % 3) % 12)`;
  const columns = {
    at,
    id: `'req_' || ${store.hex(at, 12)} || ${store.hex('n', 20)}`,
    started_at: at,
    key_id: `'key-' || ${key}`,
    model: `'m-' || ${model}`,
    endpoint_provider: `'p' || (${model} % 6)`,
    endpoint_model: `'m-' || ${model}`,
    protocol_in: "'chat'",
    protocol_out: "'chat'",
    stream: 'n % 2',
    status: "CASE WHEN n % 50 = 0 THEN 'failed' ELSE 'completed' END",
    estimated: '0',
    attempts: '1',
    input_tokens: '1200 + n % 100',
    output_tokens: '300 + n % 70',
    cached_tokens: 'n % 1000',
    cache_write_tokens: '0',
    reasoning_tokens: '0',
    audio_tokens: '0',
    searches: '0',
    cost: '1500000000 + n % 1000 * 1000000',
    first_byte_ms: '300 + n % 200',
    total_ms: 'CASE WHEN n % 10000 = 17 THEN 90000 ELSE 400 + n % 2000 END',
    ended_at: `${at} + 1000`,
    trace: `'${JSON.stringify(trace)}'`,
    tags: `'team=t' || (${key} % ${TEAMS})`,
  };
  for (const statement of store.prepare) await store.run(statement);
  for (let first = 0; first < COUNT; first += CHUNK) {
    const rows = store.numbers(first, Math.min(first + CHUNK, COUNT) - 1);
    await store.run(
      `INSERT INTO usage_request (${Object.keys(columns).join(', ')}) SELECT ${Object.values(columns).join(', ')} FROM ${rows}`,
    );
    if (process.stderr.isTTY) process.stderr.write(`\r${engine}: ${Math.round((first / COUNT) * 100)} % seeded`);
  }
  const sums = ['input_tokens', 'output_tokens', 'cached_tokens', 'cache_write_tokens', 'reasoning_tokens', 'cost'];
  const sumUp = (table: string, dimensions: Record<string, string>) => {
    const names = Object.keys(dimensions);
    return store.run(
      `INSERT INTO ${table} (${names.join(', ')}, requests, failures, ${sums.join(', ')})
       SELECT ${Object.values(dimensions).join(', ')}, count(*), sum(CASE WHEN status = 'failed' THEN 1 ELSE 0 END),
         ${sums.map((name) => `sum(${name})`).join(', ')}
       FROM usage_request GROUP BY ${names.map((_, index) => index + 1).join(', ')}`,
    );
  };
  const answered = { model: "endpoint_provider || '/' || endpoint_model", provider: 'endpoint_provider' };
  const hour = `started_at / ${HOUR_MS}`;
  await sumUp('usage_hour', { hour, key_id: 'key_id', ...answered });
  await sumUp('usage_part', {
    hour,
    key_id: 'key_id',
    tags: 'tags',
    ...answered,
    protocol: 'protocol_in',
    status: 'status',
  });
  await store.run('ANALYZE');
}

function openSqlite(data: string): SeededStore {
  const open = () => new DatabaseSync(join(data, 'usage.db'));
  let database: DatabaseSync | undefined;
  return {
    data,
    prepare: ['PRAGMA synchronous = off'],
    async run(statement) {
      database ??= open();
      database.exec(statement);
    },
    async count(statement) {
      database ??= open();
      return Number(database.prepare(statement).get()?.n);
    },
    numbers: (first, last) =>
      `(WITH RECURSIVE number(n) AS (SELECT ${first} UNION ALL SELECT n + 1 FROM number WHERE n < ${last}) SELECT n FROM number)`,
    hex: (value, digits) => `printf('%0${digits}x', ${value})`,
    async close() {
      database?.close();
    },
  };
}

async function openPostgres(place: string | undefined): Promise<SeededStore> {
  const { providePostgres } = await import('../test/store/postgres-server.ts');
  const server = place === undefined ? await providePostgres() : { url: place, close: async () => {} };
  const client = new Client({ connectionString: server.url });
  await client.connect();
  return {
    data: server.url,
    prepare: monthsBefore(LAST).map(
      ({ name, from, to }) =>
        `CREATE TABLE IF NOT EXISTS usage_request_${name} PARTITION OF usage_request FOR VALUES FROM (${from}) TO (${to})`,
    ),
    async run(statement) {
      await client.query(statement);
    },
    async count(statement) {
      return Number((await client.query(statement)).rows[0]?.n);
    },
    numbers: (first, last) => `generate_series(${first}::bigint, ${last}) AS number(n)`,
    hex: (value, digits) => `lpad(to_hex(${value}), ${digits}, '0')`,
    async close() {
      await client.end();
      await server.close();
    },
  };
}

/** Text before a mark, and what is after it, if it is there. */
function splitOnce(text: string, mark: string): [string, string | undefined] {
  const place = text.indexOf(mark);
  return place < 0 ? [text, undefined] : [text.slice(0, place), text.slice(place + mark.length)];
}

/** Months that a gateway would have made ahead in their time. */
function monthsBefore(moment: number): { name: string; from: number; to: number }[] {
  const date = new Date(moment);
  return [1, 2, 3, 4].map((ago) => {
    const from = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - ago);
    const name = new Date(from).toISOString().slice(0, 7).replace('-', '_');
    return { name, from, to: Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - ago + 1) };
  });
}

function print(text: string): void {
  process.stdout.write(text);
}
