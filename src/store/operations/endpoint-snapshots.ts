/** Snapshots of endpoint health: one of each gateway, which the others read. */

import { reading, writing } from '../operation.ts';

/** Snapshots of gateways that are gone are of use for as long as their oldest counts. */
const KEPT_MS = 24 * 3_600_000;

export interface EndpointSnapshot {
  instance: string;
  /** Unix milliseconds. */
  at: number;
  /** JSON. */
  snapshot: string;
}

export const storeEndpointSnapshot = writing<EndpointSnapshot, void>('usage', async (transaction, values) => {
  await transaction.run(
    `INSERT INTO endpoint_snapshot (instance, at, snapshot) VALUES (:instance, :at, :snapshot)
     ON CONFLICT (instance) DO UPDATE SET at = excluded.at, snapshot = excluded.snapshot`,
    { ...values },
  );
  await transaction.run('DELETE FROM endpoint_snapshot WHERE at < :before', { before: values.at - KEPT_MS });
});

export interface StoredEndpointSnapshot extends EndpointSnapshot {
  /** Time until which the gateway counts as alive; absent of one that is gone. */
  heartbeatUntil?: number;
}

/** Snapshots of other processes: those of live processes first, then the newest. */
export const endpointSnapshots = reading<{ except: string; now: number; limit: number }, StoredEndpointSnapshot[]>(
  'usage',
  async (transaction, { except, now, limit }) => {
    const rows = await transaction.all(
      `SELECT endpoint_snapshot.instance, at, snapshot, heartbeat_until FROM endpoint_snapshot
       LEFT JOIN instance ON instance.id = endpoint_snapshot.instance AND instance.heartbeat_until > :now
       WHERE endpoint_snapshot.instance <> :except AND at >= :since
       ORDER BY CASE WHEN heartbeat_until IS NULL THEN 1 ELSE 0 END, at DESC, endpoint_snapshot.instance LIMIT :limit`,
      { except, now, since: now - KEPT_MS, limit },
    );
    return rows.map((row) => ({
      instance: String(row.instance),
      at: Number(row.at),
      snapshot: String(row.snapshot),
      ...(row.heartbeat_until !== null && { heartbeatUntil: Number(row.heartbeat_until) }),
    }));
  },
);
