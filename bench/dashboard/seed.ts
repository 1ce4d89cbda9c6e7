/** Made-up records of requests with their hourly sums: 90 days, 1,000 keys, 12 models. */

import { DAY_HOURS, firstHour } from '../../src/store/sum-source.ts';
import {
  DAY_TABLES,
  HOUR_KEY_COLUMNS,
  HOUR_SUM_COLUMNS,
  PART_KEY_COLUMNS,
  TIMES_COLUMN,
} from '../../src/store/usage-columns.ts';
import { DAY_MS, DAYS, HOUR_MS, ZONE_MINUTES } from './questions.ts';
import type { SeededStore } from './stores.ts';

export const KEYS = 1000;
const TEAMS = 20;
const CHUNK = 100_000;
/** Hours after the end of a day until gateways sum it up. */
const HOURS_AFTER_DAY = 4;
const ZONE_FIRST_HOUR = firstHour(ZONE_MINUTES);

export interface SeedOptions {
  count: number;
  /** Unix milliseconds: when the last one ends. */
  last: number;
  say(text: string): void;
}

/** Requests of a conversation. */
const TURNS = 20;

/** Half of all requests are of ten keys; a key uses three models; every fiftieth failed, and every ten-thousandth is slow. */
export async function seedRecords(store: SeededStore, { count, last, say }: SeedOptions): Promise<void> {
  const step = (DAYS * DAY_MS) / count;
  const at = `CAST(${last - DAYS * DAY_MS} + n * ${step.toFixed(6)} AS bigint)`;
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
    trace: `'{"s":"session-' || n / ${TURNS} || '",${JSON.stringify(trace).slice(1)}'`,
    tags: `'team=t' || (${key} % ${TEAMS})`,
  };
  for (const statement of store.prepare(last)) await store.run(statement);
  for (let first = 0; first < count; first += CHUNK) {
    const rows = store.numbers(first, Math.min(first + CHUNK, count) - 1);
    await store.run(
      `INSERT INTO usage_request (${Object.keys(columns).join(', ')}) SELECT ${Object.values(columns).join(', ')} FROM ${rows}`,
    );
    if ((first / CHUNK) % 10 === 0) say(`${Math.round((first / count) * 100)} % seeded`);
  }
}

/** Into an empty store, with their sums by hour and by day. */
export async function seed(store: SeededStore, options: SeedOptions): Promise<void> {
  await seedRecords(store, options);
  const withStatus = (status: string) => `sum(CASE WHEN status = '${status}' THEN 1 ELSE 0 END)`;
  const estimated = (sum: string) => `sum(CASE WHEN estimated = 1 THEN ${sum} ELSE 0 END)`;
  const counted: Record<string, string> = {
    ...{ requests: 'count(*)', assessed: 'count(*)', failures: withStatus('failed'), partial: withStatus('partial') },
    ...{ estimated_tokens: estimated('input_tokens + output_tokens'), estimated_cost: estimated('cost') },
  };
  const sums = HOUR_SUM_COLUMNS.map((name) => counted[name] ?? `sum(${name})`);
  const columns = {
    ...{ hour: `started_at / ${HOUR_MS}`, key_id: 'key_id', tags: 'tags', protocol: 'protocol_in', status: 'status' },
    ...{ model: "endpoint_provider || '/' || endpoint_model", provider: 'endpoint_provider' },
  };
  // Gateways write the sums of an hour one after the other, too.
  for (const [table, keys] of Object.entries({ usage_hour: HOUR_KEY_COLUMNS, usage_part: PART_KEY_COLUMNS })) {
    options.say(`sums of ${table}`);
    const hasTimes = table === 'usage_part';
    const selected = [...keys.map((name) => columns[name as keyof typeof columns]), ...sums];
    await store.run(
      `INSERT INTO ${table} (${[...keys, ...HOUR_SUM_COLUMNS, ...(hasTimes ? [TIMES_COLUMN] : [])].join(', ')})
       SELECT ${[...selected, ...(hasTimes ? [store.times.ofRequests] : [])].join(', ')} FROM usage_request GROUP BY ${places(keys)} ORDER BY ${places(keys)}`,
    );
  }
  await sumUpDays(store, options);
  await store.run('ANALYZE');
}

/** As gateways do it a few days a minute: days of UTC, and of the zone of one question. */
export async function sumUpDays(store: SeededStore, { last, say }: SeedOptions): Promise<void> {
  const end = Math.floor(last / HOUR_MS) - HOURS_AFTER_DAY;
  for (const first of [0, ZONE_FIRST_HOUR]) {
    const start = `(hour - ${first}) / ${DAY_HOURS} * ${DAY_HOURS} + ${first}`;
    const isOpen = `${start} + ${DAY_HOURS} <= ${end} AND ${start} NOT IN (SELECT start FROM usage_day_state)`;
    for (const [table, { keys, hours, hasTimes }] of Object.entries(DAY_TABLES)) {
      say(`sums of ${table}`);
      const sums = [...HOUR_SUM_COLUMNS.map((name) => `sum(${name})`), ...(hasTimes ? [store.times.ofSums] : [])];
      await store.run(
        `INSERT INTO ${table} (${['start', ...keys, ...HOUR_SUM_COLUMNS, ...(hasTimes ? [TIMES_COLUMN] : [])].join(', ')})
         SELECT ${[start, ...keys, ...sums].join(', ')}
         FROM ${hours} WHERE ${isOpen} GROUP BY ${places(['start', ...keys])} ORDER BY ${places(['start', ...keys])}`,
      );
    }
    await store.run(
      `INSERT INTO usage_day_state (start, build, until, complete) SELECT DISTINCT ${start}, 'seed', 0, 1 FROM usage_hour WHERE ${isOpen}`,
    );
  }
}

function places(columns: readonly string[]): string {
  return columns.map((_, index) => index + 1).join(', ');
}
