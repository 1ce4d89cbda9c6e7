/** Operations that delete rows which count as stored responses of an owner: expired ones, and those of a deleted key. */

import { type Row, reading, type Transaction, writing } from './operation.ts';
import { lockTotal, setTotal } from './stored-rows.ts';

export interface OwnedTable {
  table: string;
  /** Column of the id. */
  id: string;
  /** Deletes rows by their ids with all that belongs to them; returns the bytes that they took. */
  remove(transaction: Transaction, owner: string, ids: readonly string[]): Promise<number>;
}

export function retentionOf({ table, id, remove }: OwnedTable) {
  async function removeSome(transaction: Transaction, owner: string, sql: string, values: Row): Promise<number> {
    const total = await lockTotal(transaction, owner);
    const ids = (await transaction.all(sql, values)).map((row) => String(row[id]));
    const bytes = await remove(transaction, owner, ids);
    await setTotal(transaction, owner, { responses: total.responses - ids.length, bytes: total.bytes - bytes });
    return ids.length;
  }

  return {
    /** Owners of expired rows. */
    ownersOfExpired: reading<{ now: number; limit: number }, string[]>('state', async (transaction, values) => {
      const rows = await transaction.all(
        `SELECT DISTINCT owner FROM (
           SELECT owner FROM ${table} WHERE expires_at <= :now ORDER BY expires_at LIMIT :limit) AS expired`,
        values,
      );
      return rows.map(({ owner }) => String(owner));
    }),

    /** Deletes up to `limit` expired rows of an owner; returns their number. */
    prune: writing<{ owner: string; now: number; limit: number }, number>('state', (transaction, values) => {
      const sql = `SELECT ${id} FROM ${table} WHERE owner = :owner AND expires_at <= :now ORDER BY expires_at LIMIT :limit`;
      return removeSome(transaction, values.owner, sql, values);
    }),

    /** Deletes up to `limit` rows of an owner; returns their number. */
    forget: writing<{ owner: string; limit: number }, number>('state', (transaction, values) =>
      removeSome(transaction, values.owner, `SELECT ${id} FROM ${table} WHERE owner = :owner LIMIT :limit`, values),
    ),
  };
}
