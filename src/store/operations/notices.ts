/** Notices to the operator: deliveries without a task. */

import { addDelivery, type NewDelivery, removeDelivery } from '../delivery-rows.ts';
import { type Row, reading, writing } from '../operation.ts';

/** Adds notices; a notice that exists is left unchanged. */
export const addNotices = writing<{ notices: readonly NewDelivery[] }, void>(
  'state',
  async (transaction, { notices }) => {
    for (const notice of notices) await addDelivery(transaction, notice);
  },
);

/** Deletes up to `limit` notices that were made before a time and wait for no delivery. */
export const pruneNotices = writing<{ owner: string; before: number; limit: number }, number>(
  'state',
  async (transaction, values) => {
    const rows = await transaction.all(
      `SELECT task_id FROM delivery WHERE owner = :owner AND created_at < :before AND state <> 'pending'
       ORDER BY created_at LIMIT :limit ${transaction.skipLocked}`,
      values,
    );
    for (const { task_id: id } of rows) await removeDelivery(transaction, String(id));
    return rows.length;
  },
);

export interface SubjectSpending {
  subject: string;
  period: string;
  /** In 1e-12 USD. */
  spent: bigint;
}

/** Spending of several keys or tags in the periods that begin at the given times. */
export const spentBySubjects = reading<
  { subjects: readonly string[]; starts: readonly { period: string; startsAt: number }[] },
  SubjectSpending[]
>('usage', async (transaction, { subjects, starts }) => {
  if (subjects.length === 0) return [];
  const names: Row = Object.fromEntries(subjects.map((subject, index) => [`subject${index}`, subject]));
  const values: Row = { ...names };
  const periods = starts.map(({ period, startsAt }, index) => {
    values[`period${index}`] = period;
    values[`start${index}`] = startsAt;
    return `(period = :period${index} AND starts_at = :start${index})`;
  });
  const sql = `SELECT key_id, period, CAST(spent AS text) AS spent FROM budget
    WHERE key_id IN (${Object.keys(names).map((name) => `:${name}`)}) AND (${periods.join(' OR ')})`;
  const rows = await transaction.all(sql, values);
  return rows.map(({ key_id: subject, period, spent }) => ({
    subject: String(subject),
    period: String(period),
    spent: BigInt(String(spent)),
  }));
});
