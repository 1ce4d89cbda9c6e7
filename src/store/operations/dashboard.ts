/** Sessions of the dashboard with the one-time links that open them, and its saved views, of operators together or of a key. */

import { GatewayError } from '../../core/errors.ts';
import { type Author, addAudit } from '../audit-rows.ts';
import { type Row, reading, type Transaction, writing } from '../operation.ts';
import { nextVersion } from '../version-rows.ts';

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

/** Sessions that were opened or seen before these times have ended, as have those that a clock which was set back since opened. */
export interface SessionEnds {
  openedBefore: number;
  seenBefore: number;
  /** Also codes that were made later are no longer valid. */
  openedAfter: number;
}

export interface SessionOpening extends SessionEnds {
  /** Session to open; with a code, it gets the role of the code. */
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
  const { session, codeDigest, author, perKey, openedAfter } = opening;
  const { openedAt: now } = session;
  let { role } = session;
  if (codeDigest !== undefined) {
    const taken = `DELETE FROM login_code WHERE digest = :codeDigest AND expires_at > :now AND created_at <= :openedAfter
      RETURNING role`;
    const [code] = await transaction.all(taken, { codeDigest, now, openedAfter });
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

/** Session by the digest of its cookie; expiry is not checked. */
export const findSession = reading<{ digest: string }, SessionRow | undefined>('state', async (transaction, values) => {
  const [row] = await transaction.all('SELECT * FROM session WHERE digest = :digest', values);
  return row && sessionRow(row);
});

/** Sets the time of the last use, which never goes back. */
export const touchSession = writing<{ digest: string; now: number }, void>('state', async (transaction, values) => {
  await transaction.run('UPDATE session SET seen_at = :now WHERE digest = :digest AND seen_at < :now', values);
});

export interface SessionSearch {
  keyId?: string;
  /** Id of the only session to return. */
  id?: string;
}

export interface SessionPosition {
  openedAt: number;
  id: string;
}

/** Sessions that have not ended, with their total, by time of opening, newest first. Use does not move a session. */
export const listSessions = reading<
  SessionEnds & SessionSearch & { limit: number; after?: SessionPosition | undefined },
  { rows: SessionRow[]; total: number }
>('state', async (transaction, { openedBefore, seenBefore, openedAfter, keyId, id, limit, after }) => {
  const ends = { openedBefore, seenBefore, openedAfter };
  const values = { ...ends, ...(keyId !== undefined && { keyId }), ...(id !== undefined && { id }) };
  const conditions = [
    'opened_at > :openedBefore AND seen_at > :seenBefore AND opened_at <= :openedAfter',
    ...(keyId === undefined ? [] : ['key_id = :keyId']),
    ...(id === undefined ? [] : ['id = :id']),
  ];
  const [counted] = await transaction.all(
    `SELECT count(*) AS n FROM session WHERE ${conditions.join(' AND ')}`,
    values,
  );
  if (after) conditions.push('(opened_at, id) < (:openedAt, :after)');
  const rows = await transaction.all(
    `SELECT * FROM session WHERE ${conditions.join(' AND ')} ORDER BY opened_at DESC, id DESC LIMIT :limit`,
    { ...values, limit, ...(after && { openedAt: after.openedAt, after: after.id }) },
  );
  return { rows: rows.map(sessionRow), total: Number(counted?.n) };
});

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

async function forgetEnded(
  transaction: Transaction,
  { openedBefore, seenBefore, openedAfter }: SessionEnds,
): Promise<void> {
  const sql =
    'DELETE FROM session WHERE opened_at <= :openedBefore OR seen_at <= :seenBefore OR opened_at > :openedAfter';
  await transaction.run(sql, { openedBefore, seenBefore, openedAfter });
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

export interface SavedView {
  id: string;
  name: string;
  /** Path and search of the page. */
  address: string;
  /** Unix milliseconds. */
  updatedAt: number;
}

interface OwnedView {
  /** Id of a key, or that of operators. */
  owner: string;
  id: string;
}

/** Views of one owner. */
const MAX_VIEWS = 100;

/** All views of an owner, by their names. */
export const listSavedViews = reading<{ owner: string }, SavedView[]>('state', async (transaction, values) => {
  const rows = await transaction.all(`${COLUMNS} WHERE owner = :owner`, values);
  return rows.map(savedView).sort((one, other) => (one.name < other.name ? -1 : Number(one.name > other.name)));
});

export const readSavedView = reading<OwnedView, SavedView | undefined>('state', (transaction, view) =>
  findView(transaction, view),
);

/** Makes or replaces a view. Throws `invalid_request` if its page has another of the name, or the owner has too many. */
export const putSavedView = writing<{ owner: string; view: SavedView }, void>(
  'state',
  async (transaction, { owner, view }) => {
    // One writer at a time, so that gateways count and compare the same views.
    await nextVersion(transaction, 'views');
    const { id, name, address, updatedAt } = view;
    const [page = ''] = address.split('?', 1);
    const sameName = 'SELECT id FROM saved_view WHERE owner = :owner AND page = :page AND name = :name AND id <> :id';
    if ((await transaction.all(sameName, { owner, id, page, name })).length > 0) {
      throw new GatewayError('invalid_request', 'name is that of another view of the page.', { param: 'name' });
    }
    if (!(await findView(transaction, { owner, id }))) await requireRoom(transaction, owner);
    await transaction.run(
      `INSERT INTO saved_view (owner, id, page, name, address, updated_at) VALUES (:owner, :id, :page, :name, :address, :updatedAt)
     ON CONFLICT (owner, id) DO UPDATE
     SET page = excluded.page, name = excluded.name, address = excluded.address, updated_at = excluded.updated_at`,
      { owner, id, page, name, address, updatedAt },
    );
  },
);

/** False if there is none. */
export const removeSavedView = writing<OwnedView, boolean>('state', async (transaction, { owner, id }) => {
  const removed = await transaction.run('DELETE FROM saved_view WHERE owner = :owner AND id = :id', { owner, id });
  return removed > 0;
});

const COLUMNS = 'SELECT id, name, address, updated_at FROM saved_view';

async function findView(transaction: Transaction, { owner, id }: OwnedView): Promise<SavedView | undefined> {
  const [row] = await transaction.all(`${COLUMNS} WHERE owner = :owner AND id = :id`, { owner, id });
  return row && savedView(row);
}

async function requireRoom(transaction: Transaction, owner: string): Promise<void> {
  const [row] = await transaction.all('SELECT count(*) AS n FROM saved_view WHERE owner = :owner', { owner });
  if (Number(row?.n) < MAX_VIEWS) return;
  throw new GatewayError('invalid_request', `At most ${MAX_VIEWS} views are kept; delete one first.`, { param: 'id' });
}

function savedView({ id, name, address, updated_at: updatedAt }: Row): SavedView {
  return { id: String(id), name: String(name), address: String(address), updatedAt: Number(updatedAt) };
}
