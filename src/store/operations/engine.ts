/** What the store asks of itself. */

import { writing } from '../operation.ts';

/** A write that is as small as a write can be. */
export const probeState = writing<object, number>('state', (transaction) =>
  transaction.run(
    `INSERT INTO version (subject, value) VALUES ('probe', 1)
     ON CONFLICT (subject) DO UPDATE SET value = version.value + 1`,
  ),
);

/** Asks for no more than the right to write, which records of usage are waiting for. */
export const probeUsage = writing<object, number>('usage', (transaction) =>
  transaction.run("DELETE FROM held WHERE subject = ''"),
);

/** Takes every lease back, for an owner that knows that all former holders are dead. */
export const releaseLeases = writing<object, number>('state', (transaction) =>
  transaction.run("UPDATE job SET lease = '', lease_until = 0 WHERE lease <> '' OR lease_until > 0"),
);
