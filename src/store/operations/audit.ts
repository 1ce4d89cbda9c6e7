/** Audit log queries. */

import type { Json } from '../../core/json/json.ts';
import { findRows, hasText, type ListTotal, SEARCH_DEPTH, TOTAL_DEPTH, totalOf } from '../list-search.ts';
import { type Row, scanning, type Transaction } from '../operation.ts';

export interface AuditRow {
  /** Higher is later. */
  id: number;
  /** Unix milliseconds. */
  at: number;
  actor: string;
  action: string;
  subject: string;
  before?: Json;
  after?: Json;
  requestId?: string;
}

export interface AuditPage {
  limit: number;
  /** Id of the last entry of the page before. */
  after?: number | undefined;
  subject?: string | undefined;
}

/** Newest first. */
export const readAudit = scanning<AuditPage, AuditRow[]>('state', async (transaction, { limit, after, subject }) => {
  const sql = `SELECT * FROM audit WHERE id < :after ${subject === undefined ? '' : 'AND subject = :subject'}
    ORDER BY id DESC LIMIT :limit`;
  const values = { limit, after: after ?? Number.MAX_SAFE_INTEGER, ...(subject !== undefined && { subject }) };
  return (await transaction.all(sql, values)).map(auditRow);
});

interface AuditSearch extends Pick<AuditPage, 'subject'> {
  /** Text of the actor, the action, the subject, or the request. */
  search?: string | undefined;
}

/** One page of a search, newest first. It may be empty although a later one is not. */
export const searchAudit = scanning<
  AuditPage & AuditSearch & { depth?: number },
  { entries: AuditRow[]; next?: number }
>('state', async (transaction, { limit, after, subject, search, depth = SEARCH_DEPTH }) => {
  const seen = await readLightRows(transaction, { after, subject, depth });
  const { found, last } = findRows(seen, { limit, depth }, (row) => matches(row, search));
  return { entries: await readEntries(transaction, found), ...(last && { next: Number(last.id) }) };
});

/** Counts matches among the newest entries. */
export const countAudit = scanning<AuditSearch, ListTotal>('state', async (transaction, { subject, search }) =>
  totalOf(await readLightRows(transaction, { subject, depth: TOTAL_DEPTH + 1 }), (row) => matches(row, search)),
);

function matches({ actor, action, subject, request_id: requestId }: Row, search: string | undefined): boolean {
  return hasText(search, [actor, action, subject, requestId]);
}

/** Reads rows in the order of an index, without their long columns. */
async function readLightRows(
  transaction: Transaction,
  { after, subject, depth }: Pick<AuditPage, 'after' | 'subject'> & { depth: number },
): Promise<Row[]> {
  const sql = `SELECT id, actor, action, subject, request_id FROM audit WHERE id < :after
    ${subject === undefined ? '' : 'AND subject = :subject'} ORDER BY id DESC LIMIT :depth`;
  const values = { depth, after: after ?? Number.MAX_SAFE_INTEGER, ...(subject !== undefined && { subject }) };
  return transaction.all(sql, values);
}

async function readEntries(transaction: Transaction, found: readonly Row[]): Promise<AuditRow[]> {
  if (found.length === 0) return [];
  const ids: Row = Object.fromEntries(found.map(({ id = null }, index) => [`id${index}`, id]));
  const names = Object.keys(ids).map((name) => `:${name}`);
  const rows = await transaction.all(`SELECT * FROM audit WHERE id IN (${names.join(', ')}) ORDER BY id DESC`, ids);
  return rows.map(auditRow);
}

function auditRow({ id, at, actor, action, subject, before, after, request_id: requestId }: Row): AuditRow {
  return {
    id: Number(id),
    at: Number(at),
    actor: String(actor),
    action: String(action),
    subject: String(subject),
    ...(typeof before === 'string' && { before: JSON.parse(before) }),
    ...(typeof after === 'string' && { after: JSON.parse(after) }),
    ...(typeof requestId === 'string' && { requestId }),
  };
}
