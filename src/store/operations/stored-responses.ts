/** Stored responses: writes, reads by id, chains and references. */

import type { StoredPart, StoredResponse } from '../../records/stored-response.ts';
import { type Appended, appendItems } from '../conversation-rows.ts';
import { addJob, finishJob, type Lease, type NewJob } from '../job-rows.ts';
import { type Row, reading, type Transaction, writing } from '../operation.ts';
import { makeRoom } from '../stored-room.ts';
import {
  addNamesAndParts,
  addStored,
  expireStream,
  HEAD_COLUMNS,
  listsOf,
  lockTotal,
  type NeededRoom,
  type NewStoredResponse,
  partOf,
  partsOf,
  type ReadRoom,
  removeStored,
  removeUses,
  STORED_COLUMNS,
  type StoredLimits,
  setTotal,
  storedResponseOf,
  storedRow,
} from '../stored-rows.ts';

export interface PutResponse extends NewStoredResponse {
  limits: StoredLimits;
  /** Created with it. */
  job?: NewJob;
  /** Items that the response appends to its conversation. */
  appended?: Appended | undefined;
}

/** Stores a response and deletes the oldest of an owner that exceeds its limits. */
export const putStoredResponse = writing<PutResponse, void>(
  'state',
  async (transaction, { limits, job, appended, ...added }) => {
    const { owner, row } = added.response;
    const before = await lockTotal(transaction, owner);
    const turn = appended ? await appendItems(transaction, owner, appended) : 0;
    const bytes = before.bytes + turn + (await addStored(transaction, added));
    const total = { responses: before.responses + 1, bytes };
    await setTotal(transaction, owner, await makeRoom(transaction, owner, { total, limits, but: row }));
    if (job) await addJob(transaction, job);
  },
);

export interface ChangedResponse extends NewStoredResponse {
  limits: StoredLimits;
  /** The job that is finished with the response. */
  finishes?: Lease;
  /** Time at which the events of its stream are deleted. */
  streamExpiresAt?: number;
  /** Its items in the conversation that it belongs to. */
  appended?: Appended | undefined;
}

/**
 * Replaces a response that is `queued` or `in_progress`; false, with nothing changed, if it is finished or deleted, or if
 * the lease of the job that is to be finished with it is lost.
 */
export const changeStoredResponse = writing<ChangedResponse, boolean>(
  'state',
  async (transaction, { limits, finishes, streamExpiresAt, appended, ...changed }) => {
    const { response } = changed;
    const { owner, row } = response;
    const before = await lockTotal(transaction, owner);
    const [known] = await transaction.all(
      `SELECT bytes FROM stored_response
       WHERE row_id = :row AND owner = :owner AND status IN ('queued', 'in_progress') ${transaction.forUpdate}`,
      { row, owner },
    );
    if (known && finishes && !(await finishJob(transaction, finishes))) return leftAsItWas(transaction, owner, before);
    if (!known) return leftAsItWas(transaction, owner, before);
    const freed = await removeUses(transaction, owner, listsOf([row])[0] as ReturnType<typeof listsOf>[0]);
    const { row_id, owner: _owner, created_at, ...columns } = storedRow(response);
    const assignments = Object.keys(columns).map((column) => `${column} = :${column}`);
    await transaction.run(`UPDATE stored_response SET ${assignments.join(', ')} WHERE row_id = :row`, {
      ...columns,
      row,
    });
    if (streamExpiresAt !== undefined) await expireStream(transaction, row, streamExpiresAt);
    const turn = appended ? await appendItems(transaction, owner, appended) : 0;
    const added = turn + Number(columns.bytes) + (await addNamesAndParts(transaction, changed));
    const total = { responses: before.responses, bytes: before.bytes - Number(known.bytes) - freed + added };
    await setTotal(transaction, owner, await makeRoom(transaction, owner, { total, limits, but: row }));
    return true;
  },
);

async function leftAsItWas(
  transaction: Transaction,
  owner: string,
  total: { responses: number; bytes: number },
): Promise<false> {
  await setTotal(transaction, owner, total);
  return false;
}

interface NamedResponse {
  owner: string;
  id: string;
  /** Unix milliseconds. */
  now: number;
}

/** Deletes a response by its id; false if the owner has none with it. */
export const deleteStoredResponse = writing<NamedResponse, boolean>(
  'state',
  async (transaction, { owner, id, now }) => {
    const total = await lockTotal(transaction, owner);
    const found = await findRow(transaction, { owner, id, now });
    const bytes = found ? await removeStored(transaction, owner, [found.row]) : 0;
    const responses = total.responses - (found ? 1 : 0);
    await setTotal(transaction, owner, { responses, bytes: total.bytes - bytes });
    return found !== undefined;
  },
);

/** A response with the parts of its content. */
export interface ReadStoredResponse {
  response: StoredResponse;
  parts: StoredPart[];
}

/** Undefined for an id that the owner does not have, and for an expired response. */
export const readStoredResponse = reading<NamedResponse & ReadRoom, ReadStoredResponse | NeededRoom | undefined>(
  'state',
  async (transaction, { room = Number.POSITIVE_INFINITY, ...named }) => {
    const found = await findRow(transaction, named);
    if (!found) return undefined;
    if (found.wholeBytes > room) return { needs: found.wholeBytes };
    const { owner } = named;
    const { row } = found;
    const sql = `SELECT ${STORED_COLUMNS} FROM stored_response WHERE row_id = :row AND owner = :owner`;
    const [read] = await transaction.all(sql, { row, owner });
    return read && { response: storedResponseOf(read), parts: await partsOf(transaction, owner, [row]) };
  },
);

/** A response without its content. Undefined for an id that the owner does not have, and for an expired response. */
export const findStoredResponse = reading<NamedResponse, StoredResponse | undefined>('state', findRow);

async function findRow(transaction: Transaction, named: NamedResponse): Promise<StoredResponse | undefined> {
  const [row] = await transaction.all(
    `SELECT ${columnsOfResponse(HEAD_COLUMNS)} FROM stored_name AS known
     JOIN stored_response AS response ON response.row_id = known.row_id AND response.owner = known.owner
     WHERE known.owner = :owner AND known.kind = 'response' AND known.name = :id AND response.expires_at > :now`,
    { ...named },
  );
  return row && storedResponseOf(row);
}

export interface StoredChain {
  /** Responses from the newest to the oldest, or to the first that its provider keeps. */
  responses: StoredResponse[];
  parts: StoredPart[];
}

export interface ChainQuery extends NamedResponse, ReadRoom {
  maxItems: number;
  maxBytes: number;
}

/** A response and all that it continues. `unknown` if any of them is missing, `too-long` if they exceed the limits. */
export const readStoredChain = reading<ChainQuery, StoredChain | NeededRoom | 'unknown' | 'too-long'>(
  'state',
  async (transaction, { owner, id, now, maxItems, maxBytes, room = Number.POSITIVE_INFINITY }) => {
    const newest = await findRow(transaction, { owner, id, now });
    if (!newest) return 'unknown';
    if (newest.credential !== undefined) return { responses: [newest], parts: [] };
    const values = { owner, now, row: newest.row, max_items: maxItems, max_bytes: maxBytes };
    const links = await transaction.all(
      `${CHAIN_SQL} SELECT previous, all_items, all_bytes, depth, has_content FROM chain`,
      values,
    );
    const oldest = links.reduce((one, other) => (Number(one.depth) > Number(other.depth) ? one : other));
    if (Number(oldest.all_items) > maxItems || Number(oldest.all_bytes) > maxBytes) return 'too-long';
    const isCut = oldest.previous !== null && Number(oldest.has_content) === 1;
    if (isCut) return Number(oldest.depth) >= maxItems ? 'too-long' : 'unknown';
    if (Number(oldest.all_bytes) > room) return { needs: Number(oldest.all_bytes) };
    const rows = await transaction.all(
      `${CHAIN_SQL} SELECT ${columnsOfResponse()} FROM chain
       JOIN stored_response AS response ON response.row_id = chain.row_id ORDER BY chain.depth`,
      values,
    );
    if (rows.length < links.length) return 'unknown';
    const parts = await transaction.all(
      `${CHAIN_SQL} SELECT digest, content FROM stored_part WHERE owner = :owner AND digest IN (
         SELECT part.digest FROM chain JOIN stored_part_use AS part ON part.row_id = chain.row_id)`,
      values,
    );
    return { responses: rows.map(storedResponseOf), parts: parts.map(partOf) };
  },
);

/** Links beyond the limits, and those that a provider keeps, are not followed. */
const CHAIN_SQL = `WITH RECURSIVE chain AS (
    SELECT row_id, previous, items AS all_items, whole_bytes AS all_bytes, 1 AS depth, 1 AS has_content
    FROM stored_response
    WHERE row_id = :row AND owner = :owner AND expires_at > :now
  UNION ALL
    SELECT earlier.row_id, earlier.previous, chain.all_items + earlier.items, chain.all_bytes + earlier.whole_bytes,
      chain.depth + 1, CASE WHEN earlier.content IS NULL THEN 0 ELSE 1 END
    FROM chain JOIN stored_response AS earlier ON earlier.row_id = chain.previous
    WHERE earlier.owner = :owner AND earlier.expires_at > :now AND chain.has_content = 1
      AND chain.all_items <= :max_items AND chain.all_bytes <= :max_bytes AND chain.depth < :max_items
  )`;

export interface FoundItem {
  id: string;
  /** `row` of the response. */
  row: string;
  /** Index in its output. */
  position: number;
}

export interface FoundItems {
  items: FoundItem[];
  /** Responses of the items and of the asked `rows`. */
  responses: StoredResponse[];
  parts: StoredPart[];
}

/** The output items with these ids, with the responses that they belong to; `too-long` if these exceed the limit. */
export const findStoredItems = reading<
  { owner: string; ids: readonly string[]; rows: readonly string[]; now: number; maxBytes: number } & ReadRoom,
  FoundItems | NeededRoom | 'too-long'
>('state', async (transaction, { owner, ids, rows, now, maxBytes, room = Number.POSITIVE_INFINITY }) => {
  const items: FoundItem[] = [];
  for (const { list, values } of listsOf(ids)) {
    const named = await transaction.all(
      `SELECT name, row_id, position FROM stored_name WHERE owner = :owner AND kind = 'item' AND name IN (${list})`,
      { ...values, owner },
    );
    for (const { name, row_id, position } of named)
      items.push({ id: String(name), row: String(row_id), position: Number(position) });
  }
  const lists = listsOf([...new Set([...items.map(({ row }) => row), ...rows])]).map(({ list, values }) => ({
    scope: `owner = :owner AND expires_at > :now AND row_id IN (${list})`,
    scoped: { ...values, owner, now },
  }));
  let bytes = 0;
  for (const { scope, scoped } of lists) {
    const sql = `SELECT sum(whole_bytes) AS bytes FROM stored_response WHERE content IS NOT NULL AND ${scope}`;
    const [sum] = await transaction.all(sql, scoped);
    bytes += Number(sum?.bytes ?? 0);
    if (bytes > maxBytes) return 'too-long';
  }
  if (bytes > room) return { needs: bytes };
  const found: Row[] = [];
  for (const { scope, scoped } of lists)
    found.push(...(await transaction.all(`SELECT ${STORED_COLUMNS} FROM stored_response WHERE ${scope}`, scoped)));
  const responses = found.map(storedResponseOf);
  const known = new Set(responses.map(({ row }) => row));
  return {
    items: items.filter(({ row }) => known.has(row)),
    responses,
    parts: await partsOf(transaction, owner, [...known]),
  };
});

function columnsOfResponse(columns = STORED_COLUMNS): string {
  return columns
    .split(/,\s*/)
    .map((column) => `response.${column}`)
    .join(', ');
}
