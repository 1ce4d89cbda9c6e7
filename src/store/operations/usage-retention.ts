/** Retention of usage records: removal by age and number, in parts. Sums stay. */

import { type Row, reading, scanning, type Transaction, writing } from '../operation.ts';
import { NAME_RETENTION_MS, NAME_SPAN_MS } from '../request-rows.ts';
import { DAY_HOURS, existingSpan, sumSource, wholeDays } from '../sum-source.ts';

const DAY_MS = 24 * 3_600_000;

/** Number of records per day, from the sums, the latest day first. */
export const usageByDay = scanning<object, Row[]>('usage', async (transaction) => {
  const all = { from: Number.MIN_SAFE_INTEGER, to: Number.MAX_SAFE_INTEGER };
  const span = await existingSpan(transaction, all);
  const source = sumSource(transaction, span, wholeDays(span));
  const rows = source.select('usage_day', (hour) => `${hour} AS hour, requests`, '');
  return transaction.all(
    `${source.tables} SELECT hour / ${DAY_HOURS} AS day, CAST(SUM(requests) AS bigint) AS records FROM (${rows}) AS rows
     GROUP BY 1 ORDER BY 1 DESC`,
    source.values,
  );
});

/** Number of records of one day, in days since 1970. */
export const usageOfDay = reading<{ day: number }, number>('usage', async (transaction, { day }) => {
  const sql = 'SELECT CAST(SUM(requests) AS bigint) AS records FROM usage_hour WHERE hour >= :from AND hour < :to';
  const [row] = await transaction.all(sql, { from: day * DAY_HOURS, to: (day + 1) * DAY_HOURS });
  return Number(row?.records ?? 0);
});

/** The cost of the task of a record does not change any more. */
const IS_FINAL = 'NOT EXISTS (SELECT 1 FROM task_hold WHERE task_id = usage_record.id)';

export interface PruneRequest {
  day: number;
  limit: number;
  /** The records are old, not too many: where months are stored apart, those of a large month may stay until it is over. */
  byAge?: boolean;
  /** Leaves the records of requests. */
  keepsRequests?: boolean;
}

/** Deletes records of earlier days: up to `limit`, or whole months; 0 if none are left. */
export const pruneUsage = writing<PruneRequest, number>(
  'usage',
  async (transaction, { day, limit, keepsRequests = false }) => {
    const requests = keepsRequests ? 0 : await deleteRequests(transaction, { before: day * DAY_MS, limit });
    if (requests > 0) return requests;
    return transaction.run(
      `DELETE FROM usage_record WHERE day < :day AND id IN
       (SELECT id FROM usage_record WHERE day < :day AND ${IS_FINAL} ORDER BY day, id LIMIT :limit)`,
      { day, limit },
    );
  },
);

/** Deletes up to `limit` records of requests before a timestamp. */
async function deleteRequests(transaction: Transaction, values: { before: number; limit: number }): Promise<number> {
  return transaction.run(
    `DELETE FROM usage_request WHERE (at, id) IN
     (SELECT at, id FROM usage_request WHERE at < :before ORDER BY at, id LIMIT :limit)`,
    values,
  );
}

/** Deletes up to `limit` names of requests that are too old to be found by them. */
export const pruneRequestNames = writing<{ now: number; limit: number }, number>(
  'usage',
  (transaction, { now, limit }) =>
    transaction.run(
      `DELETE FROM usage_request_name WHERE (span, hash, at) IN
       (SELECT span, hash, at FROM usage_request_name WHERE span < :span ORDER BY span, hash, at LIMIT :limit)`,
      { span: Math.floor((now - NAME_RETENTION_MS) / NAME_SPAN_MS), limit },
    ),
);

/** Deletes up to `limit` records that were refused before a time in Unix milliseconds; returns their number. */
export const pruneRefusedUsage = writing<{ before: number; limit: number }, number>('usage', (transaction, values) =>
  transaction.run(
    `DELETE FROM usage_refused WHERE id IN
     (SELECT id FROM usage_refused WHERE refused_at < :before ORDER BY id LIMIT :limit)`,
    values,
  ),
);

/** Start of the oldest of the newest `keep` records, in Unix milliseconds; undefined if there are fewer. */
export const newestSince = scanning<{ keep: number }, number | undefined>('usage', async (transaction, { keep }) => {
  const sql = `SELECT started_at FROM
      (SELECT at AS started_at FROM usage_request UNION ALL SELECT started_at FROM usage_record) AS records
    ORDER BY started_at DESC LIMIT 1 OFFSET :skipped`;
  const [row] = await transaction.all(sql, { skipped: Math.max(0, keep - 1) });
  return row && Number(row.started_at);
});

/** Deletes up to `limit` records that started before a timestamp; 0 if none are left. */
export const trimUsage = writing<{ before: number; limit: number }, number>('usage', async (transaction, values) => {
  const requests = await deleteRequests(transaction, values);
  if (requests > 0) return requests;
  return transaction.run(
    `DELETE FROM usage_record WHERE started_at < :before AND id IN
     (SELECT id FROM usage_record WHERE started_at < :before AND ${IS_FINAL} ORDER BY started_at LIMIT :limit)`,
    values,
  );
});
