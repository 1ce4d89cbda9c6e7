/** The operations of the gateway, and what only tests ask of the tables. */

import { type Row, reading, writing } from '../../src/store/operation.ts';
import { operations as all } from '../../src/store/operations/index.ts';

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

export const operations = { ...all, deliveriesOf, countRows, insertRows, clearTable, attemptStates };
