/** Rows of stored responses, written in the transactions of operations, which lock the sums of the owner first. */

import type { ResponseStatus, StoredName, StoredPart, StoredResponse } from '../records/stored-response.ts';
import type { Row, Transaction } from './operation.ts';

/** Limits of one owner; the oldest responses are deleted first. */
export interface StoredLimits {
  responses: number;
  bytes: number;
}

/** A response with its ids and parts. */
export interface NewStoredResponse {
  response: StoredResponse;
  names: readonly StoredName[];
  parts: readonly StoredPart[];
}

/** Consecutive events of a background stream. */
export interface EventBatch {
  /** Numbers of the first and the last of them. */
  first: number;
  last: number;
  /** Encrypted. */
  content: Uint8Array;
}

/** Result of a read of contents that have more bytes than its `room`: none of them was read. */
export interface NeededRoom {
  /** Bytes of all that it reads. */
  needs: number;
}

/** Bytes of contents that a read may return; absent means all. */
export interface ReadRoom {
  room?: number;
}

export interface StoredTotal {
  responses: number;
  bytes: number;
}

/** Columns without the content. */
export const HEAD_COLUMNS = `row_id, owner, id, status, background, created_at, expires_at, previous, model, provider,
  credential, items, whole_bytes`;
export const STORED_COLUMNS = `${HEAD_COLUMNS}, content`;

export function storedResponseOf(row: Row): StoredResponse {
  const { previous, credential, content } = row;
  return {
    row: String(row.row_id),
    owner: String(row.owner),
    id: String(row.id),
    status: String(row.status) as ResponseStatus,
    background: Number(row.background) === 1,
    createdAt: Number(row.created_at),
    expiresAt: Number(row.expires_at),
    ...(typeof previous === 'string' && { previous }),
    model: String(row.model),
    provider: String(row.provider),
    ...(typeof credential === 'string' && { credential }),
    ...(content instanceof Uint8Array && { content }),
    items: Number(row.items),
    wholeBytes: Number(row.whole_bytes),
  };
}

export function storedRow(response: StoredResponse): Row {
  return {
    row_id: response.row,
    owner: response.owner,
    id: response.id,
    status: response.status,
    background: response.background ? 1 : 0,
    created_at: response.createdAt,
    expires_at: response.expiresAt,
    previous: response.previous ?? null,
    model: response.model,
    provider: response.provider,
    credential: response.credential ?? null,
    content: response.content ?? null,
    items: response.items,
    bytes: response.content?.length ?? 0,
    whole_bytes: response.wholeBytes,
  };
}

/** First step of every change: changes of one owner run one after the other. */
export async function lockTotal(transaction: Transaction, owner: string): Promise<StoredTotal> {
  const [row] = await transaction.all(
    `INSERT INTO stored_total (owner, responses, bytes) VALUES (:owner, 0, 0)
     ON CONFLICT (owner) DO UPDATE SET owner = excluded.owner RETURNING responses, bytes`,
    { owner },
  );
  return { responses: Number(row?.responses ?? 0), bytes: Number(row?.bytes ?? 0) };
}

/** Sets the totals of an owner, and deletes them at zero responses. */
export async function setTotal(
  transaction: Transaction,
  owner: string,
  { responses, bytes }: StoredTotal,
): Promise<void> {
  const sql =
    responses > 0
      ? 'UPDATE stored_total SET responses = :responses, bytes = :bytes WHERE owner = :owner'
      : 'DELETE FROM stored_total WHERE owner = :owner';
  await transaction.run(sql, { owner, ...(responses > 0 && { responses, bytes }) });
}

/** Inserts a response; returns the bytes that it takes. */
export async function addStored(transaction: Transaction, added: NewStoredResponse): Promise<number> {
  const { response } = added;
  await transaction.insert('stored_response', [storedRow(response)]);
  return (response.content?.length ?? 0) + (await addNamesAndParts(transaction, added));
}

/** Returns the bytes of the parts that were not stored yet. */
export async function addNamesAndParts(
  transaction: Transaction,
  { response: { row, owner }, names, parts }: NewStoredResponse,
): Promise<number> {
  for (const { kind, name, position } of names) {
    await transaction.run(
      `INSERT INTO stored_name (owner, kind, name, row_id, position) VALUES (:owner, :kind, :name, :row, :position)
       ON CONFLICT (owner, kind, name) DO UPDATE SET row_id = excluded.row_id, position = excluded.position`,
      { owner, kind, name, row, position },
    );
  }
  const uses = parts.map(({ digest }) => ({ row_id: row, owner, digest }));
  return addParts(transaction, { owner, parts, uses });
}

/** Returns the bytes of the parts that were not stored yet. */
export async function addParts(
  transaction: Transaction,
  { owner, parts, uses }: { owner: string; parts: readonly StoredPart[]; uses: readonly Row[] },
): Promise<number> {
  let bytes = 0;
  for (const { digest, content } of parts) {
    const part = { owner, digest, content, bytes: content.length };
    const added = await transaction.insert('stored_part', [part], { ignoreDuplicates: true });
    if (added > 0) bytes += content.length;
  }
  await transaction.insert('stored_part_use', uses, { ignoreDuplicates: true });
  return bytes;
}

/** Adds events to a stream that has those before them. */
export async function addEvents(transaction: Transaction, row: string, batch: EventBatch): Promise<void> {
  const { first, last, content } = batch;
  await transaction.insert('stored_event', [{ row_id: row, first, last, content }]);
  await transaction.run('UPDATE stored_stream SET next = :next, bytes = bytes + :bytes WHERE row_id = :row', {
    row,
    next: last + 1,
    bytes: content.length,
  });
}

/** Sets when the events of a response that has ended are deleted. */
export async function expireStream(transaction: Transaction, row: string, expiresAt: number): Promise<void> {
  const sql = 'UPDATE stored_stream SET expires_at = :expires WHERE row_id = :row';
  await transaction.run(sql, { row, expires: expiresAt });
}

/** Deletes responses of one owner with everything that only they need; returns the bytes that they took. */
export async function removeStored(transaction: Transaction, owner: string, rows: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const some of listsOf(rows)) {
    const { list, values } = some;
    const removed = await transaction.all(
      `DELETE FROM stored_response WHERE row_id IN (${list}) RETURNING bytes`,
      values,
    );
    await transaction.run(`DELETE FROM stored_name WHERE row_id IN (${list})`, values);
    await transaction.run(`DELETE FROM stored_event WHERE row_id IN (${list})`, values);
    await transaction.run(`DELETE FROM stored_stream WHERE row_id IN (${list})`, values);
    bytes += sumOf(removed) + (await removeUses(transaction, owner, some));
  }
  return bytes;
}

/** Deletes the parts that no other response uses. */
export async function removeUses(transaction: Transaction, owner: string, rows: ValueList): Promise<number> {
  const uses = await transaction.all(
    `DELETE FROM stored_part_use WHERE row_id IN (${rows.list}) RETURNING digest`,
    rows.values,
  );
  let bytes = 0;
  for (const { list, values } of listsOf([...new Set(uses.map(({ digest }) => String(digest)))])) {
    const removed = await transaction.all(
      `DELETE FROM stored_part WHERE owner = :owner AND digest IN (${list}) AND NOT EXISTS (
         SELECT 1 FROM stored_part_use AS other WHERE other.owner = :owner AND other.digest = stored_part.digest
       ) RETURNING bytes`,
      { ...values, owner },
    );
    bytes += sumOf(removed);
  }
  return bytes;
}

/** Parts of the contents of responses. */
export async function partsOf(transaction: Transaction, owner: string, rows: readonly string[]): Promise<StoredPart[]> {
  const parts: Row[] = [];
  for (const { list, values } of listsOf(rows)) {
    const found = await transaction.all(
      `SELECT digest, content FROM stored_part WHERE owner = :owner AND digest IN (
         SELECT digest FROM stored_part_use WHERE row_id IN (${list}))`,
      { ...values, owner },
    );
    parts.push(...found);
  }
  return parts.map(partOf);
}

export function partOf({ digest, content }: Row): StoredPart {
  return { digest: String(digest), content: content as Uint8Array };
}

/** Sum of the column `bytes`. */
export function sumOf(rows: readonly Row[]): number {
  return rows.reduce((sum, { bytes }) => sum + Number(bytes), 0);
}

export interface ValueList {
  /** Parameters for `IN (...)`. */
  list: string;
  values: Row;
}

const LIST_LENGTHS = [1, 4, 16, 64];
const MAX_LIST_LENGTH = 64;

/** Lists of few lengths, so that there are few statements; the rest of a list is NULL. */
export function listsOf(texts: readonly string[]): ValueList[] {
  const lists: ValueList[] = [];
  for (let start = 0; start < texts.length; start += MAX_LIST_LENGTH) {
    const some = texts.slice(start, start + MAX_LIST_LENGTH);
    const length = LIST_LENGTHS.find((fitting) => fitting >= some.length) ?? MAX_LIST_LENGTH;
    const names = Array.from({ length }, (_, index) => `v${index}`);
    lists.push({
      list: names.map((name) => `:${name}`).join(', '),
      values: Object.fromEntries(names.map((name, index) => [name, some[index] ?? null])),
    });
  }
  return lists;
}
