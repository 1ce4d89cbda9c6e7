/** The operations of the gateway, and what only tests ask of the tables. */

import type { LedgerEntry } from '../../src/records/video-task.ts';
import { type Row, reading, writing } from '../../src/store/operation.ts';
import { operations as all } from '../../src/store/operations/index.ts';
import { countJobs } from '../jobs/operations.ts';

/** The webhooks that a task owes. */
const deliveriesOf = reading<{ taskId: string }, { id: string; body: string }[]>(
  'state',
  async (transaction, values) => {
    const rows = await transaction.all('SELECT id, body FROM delivery WHERE task_id = :taskId', values);
    return rows.map(({ id, body }) => ({ id: String(id), body: Buffer.from(body as Uint8Array).toString() }));
  },
);

/** How many rows a table has. */
const countRows = reading<{ table: string }, number>('state', async (transaction, { table }) => {
  const [row] = await transaction.all(`SELECT count(*) AS n FROM ${table}`);
  return Number(row?.n);
});

/** Rows as they stand. */
const insertRows = writing<{ table: string; rows: Row[] }, void>('state', async (transaction, { table, rows }) => {
  for (const row of rows) await transaction.insert(table, [row]);
});

const clearTable = writing<{ table: string }, number>('state', async (transaction, { table }) =>
  transaction.run(`DELETE FROM ${table}`),
);

/** Attempts of a task and how far they got. */
const attemptStates = reading<{ taskId: string }, string[]>('state', async (transaction, values) => {
  const rows = await transaction.all('SELECT state FROM video_attempt WHERE task_id = :taskId', values);
  return rows.map(({ state }) => String(state));
});

/** What a task cost. */
const readVideoLedger = reading<{ taskId: string }, Pick<LedgerEntry, 'seconds' | 'cost' | 'source'> | undefined>(
  'state',
  async (transaction, values) => {
    const sql = 'SELECT seconds, CAST(cost AS text) AS cost, source FROM video_ledger WHERE task_id = :taskId';
    const [row] = await transaction.all(sql, values);
    return (
      row && {
        seconds: Number(row.seconds),
        cost: BigInt(String(row.cost)),
        source: String(row.source) as LedgerEntry['source'],
      }
    );
  },
);

export const operations = {
  ...all,
  countJobs,
  readVideoLedger,
  deliveriesOf,
  countRows,
  insertRows,
  clearTable,
  attemptStates,
};
