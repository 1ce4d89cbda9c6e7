/** Maintenance operations of the store engines, and moments of the operation of the gateway. */

import { reading, writing } from '../operation.ts';

/** Smallest possible write. */
export const probeState = writing<object, number>('state', (transaction) =>
  transaction.run(
    `INSERT INTO version (subject, value) VALUES ('probe', 1)
     ON CONFLICT (subject) DO UPDATE SET value = version.value + 1`,
  ),
);

/** Checks for write access to the usage database without changing a row. */
export const probeUsage = writing<object, number>('usage', (transaction) =>
  transaction.run("DELETE FROM held WHERE subject = ''"),
);

/** Revokes all leases; for an owner that knows that all former holders are dead. */
export const releaseLeases = writing<object, number>('state', (transaction) =>
  transaction.run("UPDATE job SET lease = '', lease_until = 0 WHERE lease <> '' OR lease_until > 0"),
);

/** Keeps the latest time, in Unix milliseconds; an earlier one counts where it replaces one that turned out to be wrong. */
export const noteMoment = writing<{ name: string; at: number; replaced?: number }, number>(
  'state',
  (transaction, { name, at, replaced = at }) =>
    transaction.run(
      `INSERT INTO moment (name, at) VALUES (:name, :at)
       ON CONFLICT (name) DO UPDATE SET at = excluded.at WHERE moment.at < excluded.at OR moment.at = :replaced`,
      { name, at, replaced },
    ),
);

/** Unix milliseconds that are stored under a name. */
export const readMoment = reading<{ name: string }, number | undefined>('state', async (transaction, values) => {
  const [row] = await transaction.all('SELECT at FROM moment WHERE name = :name', values);
  return row && Number(row.at);
});
