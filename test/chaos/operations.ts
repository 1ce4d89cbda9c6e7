/** The operations of the gateway, and what these scenarios put into the tables and ask of them. */

import { addDelivery, type NewDelivery } from '../../src/store/delivery-rows.ts';
import { type Row, reading, writing } from '../../src/store/operation.ts';
import { operations as all } from '../../src/store/operations/index.ts';

export const operations = {
  ...all,
  addDeliveries: writing<{ deliveries: NewDelivery[] }, void>('state', async (transaction, { deliveries }) => {
    for (const delivery of deliveries) await addDelivery(transaction, delivery);
  }),
  insertRows: writing<{ table: string; rows: Row[] }, void>('state', async (transaction, { table, rows }) => {
    await transaction.insert(table, rows);
  }),
  askState: reading<{ sql: string }, Row[]>('state', (transaction, { sql }) => transaction.all(sql)),
  askUsage: reading<{ sql: string }, Row[]>('usage', (transaction, { sql }) => transaction.all(sql)),
};
