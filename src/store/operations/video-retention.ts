/** Retention of video tasks: media, records and idempotency keys. */

import type { VideoTask } from '../../records/video-task.ts';
import { removeDelivery } from '../delivery-rows.ts';
import { reading, writing } from '../operation.ts';
import { TASK_COLUMNS, taskOf } from '../video-rows.ts';

/** Tasks whose media have expired, the first expired first. */
export const expiredVideoMedia = reading<{ now: number; limit: number }, VideoTask[]>(
  'state',
  async (transaction, values) => {
    const sql = `SELECT ${TASK_COLUMNS} FROM video_task WHERE media_expires_at <= :now
      ORDER BY media_expires_at LIMIT :limit`;
    return (await transaction.all(sql, values)).map(taskOf);
  },
);

/** Records the erasure of media: `assets` without the mirrored files. */
export const eraseVideoMedia = writing<{ id: string; assets: string }, void>('state', async (transaction, values) => {
  const sql = `UPDATE video_task SET assets = :assets, media_expires_at = NULL, version = version + 1 WHERE id = :id`;
  await transaction.run(sql, values);
});

/** The cost is not in the usage records yet. */
const PENDING_USAGE_JOB = "SELECT id FROM job WHERE kind = 'video-use' AND ref = video_task.id";

/** Deletes up to `limit` old tasks whose media are erased; the ledger stays. */
export const pruneVideos = writing<{ settledBefore: number; limit: number }, number>(
  'state',
  async (transaction, values) => {
    // Without the cast SQLite would read all tasks that have no media.
    const rows = await transaction.all(
      `SELECT id FROM video_task WHERE settled_at < :settledBefore AND CAST(media_expires_at AS bigint) IS NULL
         AND NOT EXISTS (${PENDING_USAGE_JOB})
       ORDER BY settled_at LIMIT :limit ${transaction.skipLocked}`,
      values,
    );
    for (const { id = null } of rows) {
      await transaction.run('DELETE FROM video_attempt WHERE task_id = :id', { id });
      await transaction.run("DELETE FROM job WHERE kind = 'video-booking' AND ref = :id", { id });
      await removeDelivery(transaction, String(id));
      await transaction.run('DELETE FROM video_task WHERE id = :id', { id });
    }
    return rows.length;
  },
);

/** Deletes up to `limit` idempotency keys from before a time in Unix milliseconds; returns their number. */
export const pruneIdempotency = writing<{ before: number; limit: number }, number>('state', (transaction, values) =>
  transaction.run(
    `DELETE FROM idempotency WHERE (owner, key) IN (
       SELECT owner, key FROM idempotency WHERE created_at < :before ORDER BY created_at LIMIT :limit)`,
    values,
  ),
);
