/** Usage of video tasks: transfer from the ledger to the usage records, and holds of open tasks. */

import type { TaskErrorCode } from '../../core/video.ts';
import type { TerminalStatus, VideoDetails, VideoStatus } from '../../records/video-task.ts';
import { finishJob, type Lease, rescheduleJob } from '../job-rows.ts';
import { addCreatedBetween, type CreatedBetween } from '../list-search.ts';
import { type Row, reading, scanning, writing } from '../operation.ts';
import type { UsageRow } from '../usage-row.ts';
import { addTaskUsage, correctUsage } from '../usage-rows.ts';

/** A settled task with its latest ledger amount. Timestamps are Unix milliseconds. */
export interface VideoUse {
  owner: string;
  model: string;
  provider: string;
  status: TerminalStatus;
  errorCode: TaskErrorCode | undefined;
  createdAt: number;
  settledAt: number;
  /** Tags of the key when the task was created. */
  tags: string;
  /** In 1e-12 USD. */
  cost: bigint;
  revision: number;
  /** The upstream may still be working, and the cost may change. */
  open: boolean;
}

const PENDING_RECONCILIATION = "SELECT id FROM job WHERE kind = 'video-booking' AND ref = task.id";

/** Use of a task by its ledger entry; undefined without one. */
export const readVideoUse = reading<{ id: string }, VideoUse | undefined>('state', async (transaction, values) => {
  const [row] = await transaction.all(
    `SELECT ledger.owner, ledger.model, ledger.provider, CAST(ledger.cost AS text) AS cost, ledger.revision,
       task.status, task.error_code, task.created_at, task.settled_at, task.details,
       CASE WHEN EXISTS (${PENDING_RECONCILIATION}) THEN 1 ELSE 0 END AS open
     FROM video_ledger AS ledger JOIN video_task AS task ON task.id = ledger.task_id WHERE task.id = :id`,
    values,
  );
  return (
    row && {
      owner: String(row.owner),
      model: String(row.model),
      provider: String(row.provider),
      status: row.status as TerminalStatus,
      errorCode: (row.error_code ?? undefined) as TaskErrorCode | undefined,
      createdAt: Number(row.created_at),
      settledAt: Number(row.settled_at),
      tags: (JSON.parse(String(row.details)) as VideoDetails).tags ?? '',
      cost: BigInt(String(row.cost)),
      revision: Number(row.revision),
      open: Number(row.open) === 1,
    }
  );
});

/** `held`: the cost may change. The hold of the task stays, and retention keeps the record, without which a correction would count twice. */
export interface TaskUse {
  row: UsageRow & { revision: number };
  held: boolean;
}

/** A task has one record. Idempotent and order-independent: an older revision never replaces a newer one. */
export const recordTaskUsage = writing<TaskUse, void>('usage', async (transaction, { row, held }) => {
  const { id, revision } = row;
  const [known] = await transaction.all(
    `SELECT revision, CAST(cost AS text) AS cost, status, tags FROM usage_record WHERE id = :id ${transaction.forUpdate}`,
    { id },
  );
  if (!known) await addTaskUsage(transaction, row);
  else if (Number(known.revision) < revision) {
    const { status, tags } = known as Pick<UsageRow, 'status' | 'tags'>;
    await correctUsage(transaction, { ...row, status, tags: tags ?? null }, BigInt(String(known.cost)));
  }
  if (!held) await transaction.run('DELETE FROM task_hold WHERE task_id = :id', { id });
  else {
    const { key_id, tags, started_at: created_at } = row;
    const hold = { task_id: id, key_id, tags: tags ?? '', amount: 0, created_at };
    await transaction.insert('task_hold', [hold], { ignoreDuplicates: true });
  }
});

/** Finishes the job that transferred a revision, or reschedules it if there is a newer one. */
export const finishVideoUse = writing<{ lease: Lease; id: string; revision: number; now: number }, void>(
  'state',
  async (transaction, { lease, id, revision, now }) => {
    const sql = `SELECT revision FROM video_ledger WHERE task_id = :id ${transaction.forUpdate}`;
    const [row] = await transaction.all(sql, { id });
    if (row && Number(row.revision) > revision) await rescheduleJob(transaction, lease, now);
    else await finishJob(transaction, lease);
  },
);

export interface TaskHold {
  taskId: string;
  keyId: string;
  /** Tags of the key, in the form of usage records. */
  tags: string;
  /** In 1e-12 USD. */
  amount: bigint;
  createdAt: number;
}

/** Holds the maximum cost of a task; it counts as spent by the key and its tags. */
export const holdForTask = writing<TaskHold, void>(
  'usage',
  async (transaction, { taskId, keyId, tags, amount, createdAt }) => {
    const row = { task_id: taskId, key_id: keyId, tags, amount, created_at: createdAt };
    await transaction.insert('task_hold', [row]);
  },
);

/** Releases the hold of a task. */
export const releaseTask = writing<{ id: string }, void>('usage', async (transaction, values) => {
  await transaction.run('DELETE FROM task_hold WHERE task_id = :id', values);
});

export interface HeldTask {
  id: string;
  /** Unix milliseconds. */
  heldAt: number;
}

/** Up to `limit` tasks with a hold created before a timestamp or later than another, in order, after a keyset cursor. */
export const tasksWithHold = reading<{ before: number; latest: number; after: string; limit: number }, HeldTask[]>(
  'usage',
  async (transaction, values) => {
    const sql = `SELECT task_id, created_at FROM task_hold WHERE (created_at < :before OR created_at > :latest) AND task_id > :after
      ORDER BY task_id LIMIT :limit`;
    return (await transaction.all(sql, values)).map(({ task_id: id, created_at: heldAt }) => ({
      id: String(id),
      heldAt: Number(heldAt),
    }));
  },
);

/** Whether the cost of a task may still change: it is open, or its usage is not recorded yet. */
export const mayCostMore = reading<{ id: string }, boolean>('state', async (transaction, values) => {
  const [row] = await transaction.all(
    `SELECT id FROM video_task WHERE id = :id AND settled_at IS NULL
     UNION ALL SELECT id FROM job WHERE kind IN ('video-use', 'video-booking') AND ref = :id LIMIT 1`,
    values,
  );
  return row !== undefined;
});

/** Tasks of a model in a state. */
export interface VideoSum {
  model: string;
  status: VideoStatus;
  tasks: number;
  /** Seconds of the finished videos. */
  seconds: number;
  /** In 1e-12 USD. */
  cost: bigint;
}

/** A sum of 64-bit integers has no room for the cost of all tasks, but for its millionths and for the rest. */
const COST_PART = 1_000_000n;

/** Sums of the newest `depth` tasks, by model and state. */
export const videoSums = scanning<
  CreatedBetween & { owner: string | undefined; model: string | undefined; depth: number },
  VideoSum[]
>('state', async (transaction, { owner, model, depth, ...span }) => {
  const values: Row = { depth, ...(owner !== undefined && { owner }), ...(model !== undefined && { model }) };
  const conditions = ['deleted_at IS NULL'];
  if (owner !== undefined) conditions.push('owner = :owner');
  if (model !== undefined) conditions.push('model = :model');
  addCreatedBetween(conditions, values, span);
  const rows = await transaction.all(
    `SELECT model, status, count(*) AS tasks, sum(seconds) AS seconds,
         CAST(sum(cost / ${COST_PART}) AS text) AS cost_whole, CAST(sum(cost % ${COST_PART}) AS text) AS cost_rest
       FROM (SELECT model, status, seconds, cost FROM video_task WHERE ${conditions.join(' AND ')}
         ORDER BY created_at DESC, id DESC LIMIT :depth) AS newest
       GROUP BY model, status ORDER BY model, status`,
    values,
  );
  return rows.map((row) => ({
    model: String(row.model),
    status: row.status as VideoStatus,
    tasks: Number(row.tasks),
    seconds: Number(row.seconds),
    cost: BigInt(String(row.cost_whole ?? 0)) * COST_PART + BigInt(String(row.cost_rest ?? 0)),
  }));
});
