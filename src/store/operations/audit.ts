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
  /** Keyset cursor: only entries older than this id. */
  before?: number;
  subject?: string;
}

/** Newest first. */
export const readAudit = scanning<AuditPage, AuditRow[]>('state', async (transaction, { limit, before, subject }) => {
  const sql = `SELECT * FROM audit WHERE id < :before ${subject === undefined ? '' : 'AND subject = :subject'}
    ORDER BY id DESC LIMIT :limit`;
  const values = { limit, before: before ?? Number.MAX_SAFE_INTEGER, ...(subject !== undefined && { subject }) };
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
