/** Export of usage records: which hours are due, their records in pages, and the lease of the gateway that exports. */

import { type Row, reading, scanning, writing } from '../operation.ts';

const HOUR_MS = 3_600_000;
/** Largest difference between the key of a request and its start. */
const MAX_KEY_SKEW_MS = HOUR_MS;

export interface ExportHour {
  /** Hours since 1970. */
  hour: number;
  /** Number of its records. */
  records: number;
}

/** Hours from `from` to before `to` that have other records than when they were exported, the oldest first. */
export const hoursToExport = reading<{ from: number; to: number; limit: number }, ExportHour[]>(
  'usage',
  async (transaction, values) => {
    const rows = await transaction.all(
      `SELECT counted.hour AS hour, counted.records AS records FROM
         (SELECT hour, CAST(SUM(requests) AS bigint) AS records FROM usage_hour
          WHERE hour >= :from AND hour < :to GROUP BY hour) AS counted
       LEFT JOIN usage_export ON usage_export.hour = counted.hour
       WHERE usage_export.records IS NULL OR usage_export.records <> counted.records
       ORDER BY counted.hour LIMIT :limit`,
      { ...values },
    );
    return rows.map(({ hour, records }) => ({ hour: Number(hour), records: Number(records) }));
  },
);

export interface ExportPage {
  hour: number;
  limit: number;
  /** Records of requests, or of video tasks and earlier versions. */
  of: 'requests' | 'others';
  /** Key of the last record of the page before. */
  after?: { at: number; id: string };
}

/** Records that started in an hour, in the order of their keys; `at` is the first part of the key. */
export const recordsToExport = scanning<ExportPage, Row[]>('usage', (transaction, { hour, limit, of, after }) => {
  const from = hour * HOUR_MS;
  const to = from + HOUR_MS;
  const span = { from, to, limit };
  const started = 'started_at >= :from AND started_at < :to';
  const { at, id } = after ?? { at: Number.MIN_SAFE_INTEGER, id: '' };
  if (of === 'requests') {
    const sql = `SELECT *, CAST(cost AS text) AS cost FROM usage_request
      WHERE at >= :first AND at < :last AND ${started} AND (at, id) > (CAST(:at AS bigint), CAST(:id AS text))
      ORDER BY at, id LIMIT :limit`;
    return transaction.all(sql, { ...span, first: from - MAX_KEY_SKEW_MS, last: to + MAX_KEY_SKEW_MS, at, id });
  }
  const sql = `SELECT *, day AS at, CAST(cost AS text) AS cost FROM usage_record
    WHERE day = :day AND ${started} AND id > :id ORDER BY id LIMIT :limit`;
  return transaction.all(sql, { ...span, day: Math.floor(hour / 24), id });
});

/** Notes that the records an hour had are exported. */
export const noteExported = writing<ExportHour, void>('usage', async (transaction, hour) => {
  await transaction.run(
    `INSERT INTO usage_export (hour, records) VALUES (:hour, :records)
     ON CONFLICT (hour) DO UPDATE SET records = excluded.records`,
    { ...hour },
  );
});

export interface ExportLease {
  holder: string;
  now: number;
  until: number;
}

/** Takes or extends the lease; false while another gateway has it. */
export const leaseExport = writing<ExportLease, boolean>('usage', async (transaction, lease) => {
  const rows = await transaction.all(
    `INSERT INTO usage_export_lease (id, holder, until) VALUES (1, :holder, :until)
     ON CONFLICT (id) DO UPDATE SET holder = excluded.holder, until = excluded.until
     WHERE usage_export_lease.until <= :now OR usage_export_lease.holder = :holder
     RETURNING holder`,
    { ...lease },
  );
  return rows.length > 0;
});
