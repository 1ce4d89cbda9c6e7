/** The operations of the gateway, and some that tests need to bring about what they look at. */

import { addDelivery, type NewDelivery } from '../../src/store/delivery-rows.ts';
import { addJob, finishJob, type Lease, type NewJob, rescheduleJob } from '../../src/store/job-rows.ts';
import { type Row, reading, writing } from '../../src/store/operation.ts';
import { operations as all } from '../../src/store/operations/index.ts';
import type { Claim } from '../../src/store/operations/jobs.ts';

/** How many jobs of a kind wait, and how many are leased. */
export const countJobs = reading<{ kind: string; now: number }, { waiting: number; held: number }>(
  'state',
  async (transaction, values) => {
    const sql = `SELECT count(*) AS n, coalesce(sum(CASE WHEN lease_until > :now THEN 1 ELSE 0 END), 0) AS held
      FROM job WHERE kind = :kind`;
    const [row] = await transaction.all(sql, values);
    const held = Number(row?.held ?? 0);
    return { waiting: Number(row?.n ?? 0) - held, held };
  },
);

export const operations = {
  ...all,
  countJobs,
  /** Ends the thread of the embedded engine's writer. */
  die: writing<Record<never, never>, void>('state', () => process.exit(1)),
  addJobs: writing<{ jobs: NewJob[]; late?: boolean }, void>('state', async (transaction, { jobs, late }) => {
    for (const job of jobs) await addJob(transaction, job);
    if (late) await transaction.run('UPDATE job SET late = 1 WHERE kind = :kind', { kind: jobs[0]?.kind ?? '' });
  }),
  breakLane: writing<{ kind: string; lane: string }, void>('state', async (transaction, lane) => {
    await transaction.run('INSERT INTO job_lane (kind, lane, failures) VALUES (:kind, :lane, 20)', lane);
  }),
  leaseJobs: writing<{ lane: string; lease: string; until: number }, void>('state', async (transaction, values) => {
    await transaction.run('UPDATE job SET lease = :lease, lease_until = :until WHERE lane = :lane', values);
  }),
  finish: writing<Lease, boolean>('state', (transaction, lease) => finishJob(transaction, lease)),
  reschedule: writing<Lease & { dueAt: number }, boolean>('state', (transaction, { dueAt, ...lease }) =>
    rescheduleJob(transaction, lease, dueAt, 1),
  ),
  addDeliveries: writing<{ deliveries: NewDelivery[] }, void>('state', async (transaction, { deliveries }) => {
    for (const delivery of deliveries) await addDelivery(transaction, delivery);
  }),
  hasten: writing<{ kind: string }, void>('state', async (transaction, { kind }) => {
    await transaction.run('UPDATE job SET due_at = 0 WHERE kind = :kind', { kind });
  }),
  dropJobs: writing<{ kind: string }, void>('state', async (transaction, { kind }) => {
    await transaction.run('DELETE FROM job WHERE kind = :kind', { kind });
  }),
  brokenLanes: reading<{ kind: string }, string[]>('state', async (transaction, { kind }) => {
    const rows = await transaction.all('SELECT lane FROM job_lane WHERE kind = :kind AND failures >= 20', { kind });
    return rows.map(({ lane }) => String(lane));
  }),
  begunOf: reading<{ taskId: string }, number>('state', async (transaction, values) => {
    const [row] = await transaction.all('SELECT begun FROM delivery WHERE task_id = :taskId', values);
    return Number(row?.begun);
  }),
  keepsBody: reading<{ taskId: string }, boolean>('state', async (transaction, values) => {
    const [row] = await transaction.all('SELECT body FROM delivery WHERE task_id = :taskId', values);
    return row?.body !== null;
  }),
  /** Claims, and returns the number of rows that were read. */
  rowsOfClaim: writing<Claim, number>('state', async (transaction, claim) => {
    let rows = 0;
    async function count(sql: string, values?: Row): Promise<Row[]> {
      const found = await transaction.all(sql, values);
      rows += found.length;
      return found;
    }
    await all.claimJobs.run({ ...transaction, all: count }, claim);
    return rows;
  }),
  listJobs: reading<{ kind: string }, Record<string, number | string>[]>('state', async (transaction, values) => {
    const rows = await transaction.all('SELECT * FROM job WHERE kind = :kind ORDER BY ref', values);
    return rows as Record<string, number | string>[];
  }),
};
