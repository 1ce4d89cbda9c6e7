/**
 * Money is exact: what a gateway acknowledged before it was killed is in the records, and every report, budget and daily sum is
 * the sum of these records, in 1e-12 USD.
 */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { systemClock } from '../../src/core/clock.ts';
import { decimalOf } from '../../src/core/money.ts';
import { PERIODS, periodStart } from '../../src/records/key-settings.ts';
import { tagSubject } from '../../src/records/tags.ts';
import { Secret } from '../../src/security/secret.ts';
import { MIGRATIONS_FOLDER } from '../../src/store/migrations.ts';
import type { Row } from '../../src/store/operation.ts';
import { openPostgres } from '../../src/store/postgres/store.ts';
import { openSqlite } from '../../src/store/sqlite/store.ts';
import type { Store } from '../../src/store/store.ts';
import { createDailySums } from '../../src/usage/daily-sums.ts';
import { openJournalRecorder } from '../../src/usage/journal-recorder.ts';
import { completedRow, intentRow } from '../../src/usage/record.ts';
import { recoverInterrupted } from '../../src/usage/recovery.ts';
import { reportUsage } from '../../src/usage/report.ts';
import { readUseQuery, USE_DIMENSIONS } from '../../src/usage/use-query.ts';
import { reportUse } from '../../src/usage/use-report.ts';
import { providePostgres } from '../store/postgres-server.ts';
import { forEachStore, temporaryData } from '../store/stores.ts';
import { KEYS, type Made, requestsOf, TAGS, videoRow, ZONES } from './exact-requests.ts';
import { RAW_SQL, rawSql } from './raw-sql.ts';

const HOUR_MS = 3_600_000;
const log = pino({ level: 'silent' });
const program = join(import.meta.dirname, 'exact-process.ts');
const COUNT = 160;
/** Lines after which each process is killed; the last one ends its work. */
const KILLS = [3, 60, 171, Number.POSITIVE_INFINITY];
const SPAN = { from: '2016-12-01', to: '2026-04-01' };
const CONTEXT = { names: new Map<string, string>(), hasPrice: () => true };

interface Rig {
  engine: Store['engine'];
  data: string;
  root: string;
  kind: 'journal' | 'shared';
  durability: 'strict' | 'batched';
}

/** Runs the process and kills it; what it acknowledged. */
async function runAndKill(context: TestContext, { engine, data, root, kind, durability }: Rig, run: number) {
  const parameters = [engine, data, root, kind, durability, String(run), String(COUNT)];
  const child = spawn(process.execPath, [program, ...parameters], { stdio: ['ignore', 'pipe', 'inherit'] });
  context.after(() => child.kill('SIGKILL'));
  const lines: string[] = [];
  const gone = new Promise((resolve) => child.once('close', resolve));
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (lines.length >= (KILLS[run] ?? 0) || line === 'all') child.kill('SIGKILL');
  }
  await gone;
  assert.ok(lines.length > 0, 'the process did nothing');
  return new Set(lines);
}

async function openStore({ engine, data }: Rig): Promise<Store> {
  const modules = { ...RAW_SQL, migrations: MIGRATIONS_FOLDER };
  if (engine === 'postgres') return openPostgres({ url: new Secret(data), ...modules });
  return openSqlite({ folder: data, role: 'owner', ...modules });
}

/** What the next gateway does with that which the process left. */
async function recover(store: Store, { root, kind, durability }: Rig): Promise<void> {
  if (kind === 'journal') await (await openJournalRecorder({ store, root, durability, log })).close(10_000);
  else await recoverInterrupted({ store: { ...store, now: () => store.now() + 60_000 }, log });
}

const COLUMNS = `id, started_at, key_id, tags, endpoint_provider, endpoint_model, protocol_in, status, estimated, input_tokens,
  output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, CAST(cost AS text) AS cost`;

interface Stored extends Record<string, unknown> {
  id: string;
  started_at: number;
  key_id: string;
  tags: string;
  endpoint_provider: string;
  endpoint_model: string;
  protocol_in: string;
  status: string;
  estimated: number;
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  cache_write_tokens: number;
  reasoning_tokens: number;
  cost: bigint;
}

async function recordsIn(store: Store): Promise<Stored[]> {
  const rows = [
    ...(await rawSql(store, `SELECT ${COLUMNS}, unpriced FROM usage_request`)),
    ...(await rawSql(store, `SELECT ${COLUMNS}, 0 AS unpriced FROM usage_record`)),
  ];
  const texts = ['id', 'key_id', 'tags', 'endpoint_provider', 'endpoint_model', 'protocol_in', 'status'];
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => {
        if (name === 'cost') return [name, BigInt(String(value))];
        return [name, texts.includes(name) ? String(value) : Number(value)];
      }),
    ),
  ) as Stored[];
}

/** The records of a process are those of its requests, by what it acknowledged. */
function assertRecorded(
  found: ReadonlyMap<string, Stored>,
  all: readonly Made[],
  acknowledged: Set<string>,
  strict: boolean,
) {
  for (const [index, made] of all.entries()) {
    const { intent, ending, completion, costs } = made;
    const record = found.get(intent.id);
    const what = `${ending} ${index} ${intent.id}`;
    if (ending === 'video') {
      const known = costs.findLastIndex((_, place) => acknowledged.has(`video ${index} ${place + 1}`)) + 1;
      // The step after the last one that was told may have been stored.
      const possible = [known, known + 1].filter((one) => one > 0 && one <= costs.length);
      if (known === 0 && record === undefined) continue;
      assert.ok(record && possible.some((one) => videoRow(made, one).cost === record.cost), what);
      continue;
    }
    const isBegun = acknowledged.has(`begun ${index}`);
    const isEnded = acknowledged.has(`ended ${index}`);
    if (strict && (isEnded || (isBegun && ending === 'hangs'))) assert.ok(record, what);
    if (!record) continue;
    if (ending === 'withdrawn') assert.equal(record.status, 'interrupted', what);
    const expected =
      record.status === 'interrupted' && !(strict && isEnded) ? intentRow(intent) : completedRow(intent, completion);
    assert.ok(ending === 'ends' || record.status === 'interrupted', what);
    for (const name of ['started_at', 'key_id', 'tags', 'protocol_in', 'status', 'estimated', 'unpriced'] as const)
      assert.equal(record[name], expected[name], `${what} ${name}`);
    for (const name of ['input_tokens', 'output_tokens', 'cached_tokens', 'cache_write_tokens', 'cost'] as const)
      assert.equal(record[name], expected[name], `${what} ${name}`);
  }
}

const NUMBERS = ['input_tokens', 'output_tokens', 'cached_tokens', 'cache_write_tokens', 'reasoning_tokens'] as const;

const NO_SUM = { requests: 0, failures: 0, cost: 0n, estimated: 0n, tokens: NUMBERS.map(() => 0) };

function sumOf(records: readonly Stored[]) {
  const sum = { ...NO_SUM };
  for (const record of records) {
    sum.requests += 1;
    sum.failures += record.status === 'failed' ? 1 : 0;
    sum.cost += record.cost;
    sum.estimated += record.estimated === 1 ? record.cost : 0n;
    sum.tokens = NUMBERS.map((column, place) => (sum.tokens[place] ?? 0) + record[column]);
  }
  return [sum.requests, sum.failures, decimalOf(sum.cost), decimalOf(sum.estimated), ...sum.tokens];
}

function sumsBy(records: readonly Stored[], nameOf: (record: Stored) => string): Record<string, unknown> {
  const groups = [...Map.groupBy(records, nameOf)].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(groups.map(([name, own]) => [name, sumOf(own)]));
}

const figuresOf = (row: Record<string, unknown>) => [
  ...[row.requests, row.failures, row.cost, row.estimated_cost],
  ...NUMBERS.map((name) => row[name]),
];

function reported(rows: readonly Record<string, unknown>[], nameOf: (row: Record<string, unknown>) => string) {
  const named = rows.map((row): [string, unknown[]] => [nameOf(row), figuresOf(row)]);
  return Object.fromEntries(named.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** The calendar day in which the hour of a record begins, in a zone. */
function dayOf({ started_at: startedAt }: Stored, zone: string): string {
  const hour = Math.floor(startedAt / HOUR_MS) * HOUR_MS;
  return new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' }).format(hour);
}

function mondayOf(day: string): string {
  const moment = Date.parse(day);
  const weekday = (new Date(moment).getUTCDay() + 6) % 7;
  return new Date(moment - weekday * 24 * HOUR_MS).toISOString().slice(0, 10);
}

const tagOf = ({ tags }: Stored, name: string) =>
  tags
    .split(' ')
    .find((tag) => tag.startsWith(`${name}=`))
    ?.slice(name.length + 1) ?? 'null';

/** Names of a record by dimension. */
function namedIn(record: Stored, dimension: string, zone: string): string {
  switch (dimension) {
    case 'hour':
      return new Date(Math.floor(record.started_at / HOUR_MS) * HOUR_MS).toISOString();
    case 'day':
      return dayOf(record, zone);
    case 'week':
      return mondayOf(dayOf(record, zone));
    case 'month':
      return dayOf(record, zone).slice(0, 7);
    case 'model':
      return `${record.endpoint_provider}/${record.endpoint_model}`;
    case 'provider':
      return record.endpoint_provider;
    case 'key':
      return record.key_id;
    case 'protocol':
      return record.protocol_in;
    case 'status':
      return record.status;
    default:
      return tagOf(record, dimension.slice('tag:'.length));
  }
}

const QUESTIONS = [
  ['day'],
  ['week'],
  ['month'],
  ['key'],
  ['model'],
  ['provider'],
  ['protocol', 'status'],
  ['tag:team'],
  ['month', 'tag:team', 'key'],
  ['day', 'model', 'tag:env'],
];

/** Columns of a row of a report that are dimensions; the key's is its id. */
const nameOfRow = (by: readonly string[]) => (row: Record<string, unknown>) =>
  by.map((name) => String(row[name] ?? (name === 'key' ? row.key_id : null))).join(' | ');

async function assertReports(store: Store, records: readonly Stored[]): Promise<void> {
  for (const zone of ZONES) {
    for (const by of QUESTIONS) {
      const asked = new URLSearchParams({ ...SPAN, zone, by: by.join(',') });
      const { data, total } = await reportUse(store, readUseQuery(asked, store.now(), USE_DIMENSIONS), CONTEXT);
      const expected = sumsBy(records, (record) => by.map((name) => namedIn(record, name, zone)).join(' | '));
      assert.deepEqual(reported(data as never, nameOfRow(by)), expected, `${zone} ${by}`);
      assert.deepEqual(figuresOf(total as never), sumOf(records));
    }
  }
  const [from, to] = [Date.parse(SPAN.from), Date.parse(SPAN.to)];
  for (const keyId of KEYS) {
    const own = records.filter((record) => record.key_id === keyId);
    for (const by of [['day'], ['model'], ['provider', 'day']] as const) {
      const { data, total } = await reportUsage(store, { from, to, by: [...by] }, { keyId, ...CONTEXT });
      const expected = sumsBy(own, (record) => by.map((name) => namedIn(record, name, 'UTC')).join(' | '));
      assert.deepEqual(reported(data as never, nameOfRow(by)), expected, `${keyId} ${by}`);
      assert.deepEqual(figuresOf(total as never), sumOf(own));
    }
  }
  // By the hour, a year at most.
  for (const year of ['2017', '2025']) {
    const span = { from: Date.parse(year) - 24 * HOUR_MS, to: Date.parse(year) + 365 * 24 * HOUR_MS };
    const asked = records.filter(({ started_at: at }) => at >= span.from && at < span.to);
    const { data } = await reportUsage(store, { ...span, by: ['hour', 'key'] }, CONTEXT);
    const expected = sumsBy(asked, (record) => ['hour', 'key'].map((name) => namedIn(record, name, 'UTC')).join(' | '));
    assert.deepEqual(reported(data as never, nameOfRow(['hour', 'key'])), expected, year);
  }
}

async function assertBudgets(store: Store, records: readonly Stored[]): Promise<void> {
  const tags = [...new Set(TAGS.flatMap((text) => text.split(' ').filter((tag) => tag !== '')))];
  const subjects: [string, (record: Stored) => boolean][] = [
    ...KEYS.map((key): [string, (record: Stored) => boolean] => [key, (record) => record.key_id === key]),
    ...tags.map((tag): [string, (record: Stored) => boolean] => [
      tagSubject(tag),
      (record) => record.tags.split(' ').includes(tag),
    ]),
  ];
  for (const [subject, isOwn] of subjects) {
    const own = records.filter(isOwn);
    for (const moment of new Set(own.map(({ started_at: at }) => periodStart('day', at)))) {
      const periods = PERIODS.map((period) => ({ period, startsAt: periodStart(period, moment) }));
      const expected = periods.map(({ period, startsAt }) => {
        const counted = own.filter(({ started_at: at }) => periodStart(period, at) === startsAt);
        const costOf = (some: readonly Stored[]) => some.reduce((sum, { cost }) => sum + cost, 0n);
        const unpriced = counted.filter((record) => record.unpriced === 1);
        return {
          period,
          spent: costOf(counted),
          estimated: costOf(counted.filter(({ estimated }) => estimated === 1)),
          videos: costOf(counted.filter((record) => record.protocol_in === 'videos')),
          unpriced: BigInt(unpriced.reduce((sum, one) => sum + one.input_tokens + one.output_tokens, 0)),
        };
      });
      const some = expected.filter(({ spent, unpriced }) => spent > 0n || unpriced > 0n);
      assert.deepEqual(await store.call('spentBy', { subject, starts: periods }), some, subject);
      const uses: Row[] = await store.call('budgetUse', { subject, periods });
      assert.deepEqual(
        uses.map(({ held: _, ...use }) => use),
        expected,
        subject,
      );
    }
  }
}

const RECORDERS = {
  sqlite: ['journal strict', 'journal batched'],
  postgres: ['shared strict', 'shared batched', 'journal strict'],
} as const;

forEachStore((engine) => {
  for (const recorder of RECORDERS[engine]) {
    test(`sums are those of the records, through kills (${engine}, ${recorder})`, {
      timeout: 300_000,
    }, async (context) => {
      const [kind, durability] = recorder.split(' ') as [Rig['kind'], Rig['durability']];
      const folder = temporaryData(context);
      const root = join(folder, 'journal');
      mkdirSync(root);
      const database = engine === 'postgres' ? await providePostgres() : undefined;
      if (database) context.after(database.close);
      const rig: Rig = { engine, data: database?.url ?? folder, root, kind, durability };
      const acknowledged: Set<string>[] = [];
      for (const run of KILLS.keys()) {
        acknowledged.push(await runAndKill(context, rig, run));
        const store = await openStore(rig);
        try {
          await recover(store, rig);
          const records = await recordsIn(store);
          const found = new Map(records.map((record) => [record.id, record]));
          assert.equal(found.size, records.length, 'each record is there once');
          const strict = durability === 'strict';
          const made = acknowledged.map((_, index) => requestsOf(index, COUNT));
          for (const [index, all] of made.entries())
            assertRecorded(found, all, acknowledged[index] ?? new Set(), strict);
          assert.ok(records.every(({ id }) => made.flat().some(({ intent }) => intent.id === id)));
          await assertBudgets(store, records);
          if (run === 1) await createDailySums({ store, clock: systemClock }).run();
          if (run % 2 === 1) await assertReports(store, records);
          if (run === KILLS.length - 1) assert.ok(records.length > 0, 'the processes left records');
        } finally {
          await store.close();
        }
      }
    });
  }
});
