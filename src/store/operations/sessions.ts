/** Sessions of the dashboard, and the one-time links that open them. */

import { type Author, addAudit } from '../audit-rows.ts';
import { type Row, reading, type Transaction, writing } from '../operation.ts';

export interface SessionRow {
  digest: string;
  id: string;
  role: string;
  keyDigest: string | null;
  keyId: string | null;
  tokenProof: string | null;
  openedWith: string;
  openedAt: number;
  seenAt: number;
}

export interface LoginCode {
  digest: string;
  role: string;
  now: number;
  expiresAt: number;
  author: Author;
}

/** Sessions that were opened or seen before these times have ended. */
export interface SessionEnds {
  openedBefore: number;
  seenBefore: number;
}

export interface SessionOpening extends SessionEnds {
  /** Its role is that of the code, if there is one. */
  session: SessionRow;
  codeDigest?: string;
  /** Sessions that a key may have; the ones that were seen last stay. */
  perKey: number;
  /** Absent for the session of a key, which the audit log does not name. */
  author?: Author;
}

export const addLoginCode = writing<LoginCode, void>('state', async (transaction, { author, now, ...code }) => {
  await transaction.run('DELETE FROM login_code WHERE expires_at <= :now', { now });
  const { digest, role, expiresAt } = code;
  await transaction.insert('login_code', [{ digest, role, created_at: now, expires_at: expiresAt }]);
  await addAudit(transaction, {
    author,
    at: now,
    action: 'login.link',
    subject: role,
    after: { expires_at: expiresAt },
  });
});

/** Opens a session and uses up its code. Returns its role; undefined if there is no such code any more. */
export const openSession = writing<SessionOpening, string | undefined>('state', async (transaction, opening) => {
  const { session, codeDigest, author, perKey } = opening;
  const { openedAt: now } = session;
  let { role } = session;
  if (codeDigest !== undefined) {
    const taken = 'DELETE FROM login_code WHERE digest = :codeDigest AND expires_at > :now RETURNING role';
    const [code] = await transaction.all(taken, { codeDigest, now });
    if (!code) return undefined;
    role = String(code.role);
  }
  await forgetEnded(transaction, opening);
  const { digest, id, keyDigest, keyId, tokenProof, openedWith, seenAt } = session;
  const row = { digest, id, role, key_digest: keyDigest, key_id: keyId, token_proof: tokenProof };
  await transaction.insert('session', [{ ...row, opened_with: openedWith, opened_at: now, seen_at: seenAt }]);
  if (keyId !== null) {
    const others =
      'SELECT digest FROM session WHERE key_id = :keyId ORDER BY seen_at DESC, digest LIMIT 1000000 OFFSET :perKey';
    await transaction.run(`DELETE FROM session WHERE digest IN (${others})`, { keyId, perKey });
  }
  if (author) {
    const after = { role, opened_with: openedWith };
    await addAudit(transaction, { author, at: now, action: 'session.open', subject: id, after });
  }
  return role;
});

export const findSession = reading<{ digest: string }, SessionRow | undefined>('state', async (transaction, values) => {
  const [row] = await transaction.all('SELECT * FROM session WHERE digest = :digest', values);
  return row && sessionRow(row);
});

export const touchSession = writing<{ digest: string; now: number }, void>('state', async (transaction, values) => {
  await transaction.run('UPDATE session SET seen_at = :now WHERE digest = :digest AND seen_at < :now', values);
});

/** Those that have not ended, the one seen last first. */
export const listSessions = reading<SessionEnds & { keyId?: string }, SessionRow[]>(
  'state',
  async (transaction, { openedBefore, seenBefore, keyId }) => {
    const sql = `SELECT * FROM session WHERE opened_at > :openedBefore AND seen_at > :seenBefore
      ${keyId === undefined ? '' : 'AND key_id = :keyId'} ORDER BY seen_at DESC, id LIMIT 1000`;
    const values = { openedBefore, seenBefore, ...(keyId !== undefined && { keyId }) };
    return (await transaction.all(sql, values)).map(sessionRow);
  },
);

/** Ends a session, if it is one of the key where that is given; false if there is none. */
export const endSession = writing<{ id: string; keyId?: string; now: number; author: Author }, boolean>(
  'state',
  async (transaction, { id, keyId, now, author }) => {
    const sql = `DELETE FROM session WHERE id = :id ${keyId === undefined ? '' : 'AND key_id = :keyId'} RETURNING role`;
    const [ended] = await transaction.all(sql, { id, ...(keyId !== undefined && { keyId }) });
    if (!ended) return false;
    if (ended.role !== 'key') await addAudit(transaction, { author, at: now, action: 'session.end', subject: id });
    return true;
  },
);

async function forgetEnded(transaction: Transaction, { openedBefore, seenBefore }: SessionEnds): Promise<void> {
  const sql = 'DELETE FROM session WHERE opened_at <= :openedBefore OR seen_at <= :seenBefore';
  await transaction.run(sql, { openedBefore, seenBefore });
}

function sessionRow(row: Row): SessionRow {
  const text = (value: Row[string]) => (typeof value === 'string' ? value : null);
  return {
    digest: String(row.digest),
    id: String(row.id),
    role: String(row.role),
    keyDigest: text(row.key_digest ?? null),
    keyId: text(row.key_id ?? null),
    tokenProof: text(row.token_proof ?? null),
    openedWith: String(row.opened_with),
    openedAt: Number(row.opened_at),
    seenAt: Number(row.seen_at),
  };
}
