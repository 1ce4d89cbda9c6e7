/** Maintenance operations of the store engines. */

import { writing } from '../operation.ts';

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
