/** Additional store operations for tests of the engines. Their rows are in the table `version`. */

import { setTimeout as wait } from 'node:timers/promises';
import { getHeapSpaceStatistics } from 'node:v8';
import { GatewayError } from '../../src/core/errors.ts';
import { type Row, reading, scanning, writing } from '../../src/store/operation.ts';
import { operations as own } from '../../src/store/operations/index.ts';

interface Item {
  subject: string;
  value: number;
}

const put = writing<Item, void>('state', async (transaction, { subject, value }) => {
  await transaction.insert('version', [{ subject, value }]);
});

const putMany = writing<{ items: Item[]; ignoreDuplicates: boolean }, number>(
  'state',
  (transaction, { items, ...how }) => transaction.insert('version', items as unknown as Row[], how),
);

const get = reading<{ subject: string }, number | undefined>('state', async (transaction, { subject }) => {
  const [row] = await transaction.all('SELECT value FROM version WHERE subject = :subject', { subject });
  return row && Number(row.value);
});

const list = reading<{ prefix: string }, string[]>('state', async (transaction, { prefix }) => {
  const sql = 'SELECT subject FROM version WHERE subject LIKE :pattern ORDER BY subject';
  return (await transaction.all(sql, { pattern: `${prefix}%` })).map(({ subject }) => String(subject));
});

const scan = scanning<object, number>('state', async (transaction) => {
  const [row] = await transaction.all('SELECT count(*) AS count FROM version');
  return Number(row?.count);
});

/** In two statements, so that it is right only where the row is locked in between. */
const increment = writing<{ subject: string }, number>('state', async (transaction, { subject }) => {
  const sql = `SELECT value FROM version WHERE subject = :subject ${transaction.forUpdate}`;
  const [row] = await transaction.all(sql, { subject });
  const value = Number(row?.value) + 1;
  await transaction.run('UPDATE version SET value = :value WHERE subject = :subject', { subject, value });
  return value;
});

const putAndRefuse = writing<Item, void>('state', async (transaction, item) => {
  await put.run(transaction, item);
  throw new GatewayError('insufficient_quota', 'The budget is used up.', { param: 'budget', retryAfter: 5 });
});

const putAndFail = writing<Item, void>('state', async (transaction, item) => {
  await put.run(transaction, item);
  throw new TypeError('a defect of ours');
});

const putAndWander = writing<Item & { milliseconds: number }, void>('state', async (transaction, item) => {
  await put.run(transaction, { subject: item.subject, value: item.value });
  await wait(item.milliseconds);
  await put.run(transaction, { subject: `${item.subject} later`, value: item.value });
});

const writeInReading = reading<Item, number>('state', (transaction) =>
  transaction.run("UPDATE version SET value = 0 WHERE subject = 'probe'"),
);

const ask = reading<{ sql: string; row: Row }, Row[]>('state', (transaction, { sql, row }) =>
  transaction.all(sql, row),
);

const tell = writing<{ sql: string; row: Row }, Row[]>('state', (transaction, { sql, row }) =>
  transaction.all(sql, row),
);

/** Goes on after a statement that failed. */
const swallow = writing<Item, void>('state', async (transaction, item) => {
  await put.run(transaction, item);
  await Promise.resolve(transaction.all('SELECT nothing FROM nowhere')).catch(() => undefined);
});

/** Leaves garbage in its thread. Returns the size of the young generation, in bytes. */
const litter = reading<{ objects: number }, number>('state', (_transaction, { objects }) => {
  const kept: object[] = [];
  for (let index = 0; index < objects; index++) kept[index % 1000] = { index, text: [String(index)] };
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0;
});

/** Holds up its thread. */
const pause = writing<{ milliseconds: number }, void>('state', (_transaction, { milliseconds }) => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
});

/** Ends the thread it runs in. */
const die = writing<object, void>('state', () => process.exit());

const dieLater = writing<{ milliseconds: number }, void>('state', (_transaction, { milliseconds }) => {
  setTimeout(() => process.exit(), milliseconds);
});

let attempts = 0;

/** Fails as a transaction does that another got in the way of. Gives the number of the attempt that was not. */
const collide = writing<{ times: number }, number>('state', async (transaction, { times }) => {
  attempts += 1;
  if (attempts <= times) {
    await transaction.all("DO $$ BEGIN RAISE EXCEPTION 'in the way' USING ERRCODE = '40001'; END $$");
  }
  const succeeded = attempts;
  attempts = 0;
  return succeeded;
});

export const operations = {
  ...own,
  ...{ put, putMany, get, list, scan, increment, putAndRefuse, putAndFail, putAndWander, litter },
  ...{ writeInReading, ask, tell, pause, die, dieLater, collide, swallow },
};
