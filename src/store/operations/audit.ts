/** Audit log queries. */

import type { Json } from '../../core/json/json.ts';
import { type Row, scanning } from '../operation.ts';

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
