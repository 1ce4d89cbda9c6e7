/** Settlement of usage records: each request has one record, that of its first writer. */

import type { Row, Transaction } from './operation.ts';
import { keyBatches } from './request-rows.ts';
import type { UsageRow } from './usage-row.ts';
import { addRequests, replaceRequests } from './usage-rows.ts';

export interface FinishedUsage {
  row: UsageRow;
  /** The store may have an intent of the request. */
  begun: boolean;
}

/** A request that was not sent. */
export interface WithdrawnIntent {
  id: string;
  started_at: number;
  /** False if the store never had an intent of it. */
  begun?: boolean;
}

export interface UsageChanges {
  finished: FinishedUsage[];
  withdrawn?: WithdrawnIntent[];
}

/**
 * Adds the records of finished requests and removes their intents. A record that exists stays, unless it is `interrupted`:
 * then another gateway wrote it while this one was suspended, and it is replaced, or removed if the request was not sent.
 */
export async function settleUsage(transaction: Transaction, { finished, withdrawn = [] }: UsageChanges): Promise<void> {
  const rows = finished.map(({ row }) => row);
  await deleteIntents(transaction, [
    ...withdrawn.filter((one) => one.begun !== false).map(({ id }) => id),
    ...finished.filter(({ begun }) => begun).map(({ row }) => row.id),
  ]);
  const known = await recordedIds(transaction, rows);
  await addRequests(
    transaction,
    rows.filter(({ id }) => !known.has(id)),
  );
  await correctInterrupted(
    transaction,
    rows.filter(({ id }) => known.has(id)),
    withdrawn,
  );
}

/**
 * Replaces `interrupted` records that other gateways wrote while this one was suspended. A record that is no longer
 * `interrupted` was corrected by an earlier try. Records of unsent requests are deleted.
 */
async function correctInterrupted(
  transaction: Transaction,
  finished: readonly UsageRow[],
  unsent: readonly WithdrawnIntent[],
): Promise<void> {
  const before: UsageRow[] = [];
  for (const { values, pairs } of keyBatches([...finished, ...unsent])) {
    const found = await transaction.all(
      `SELECT id, started_at, key_id, tags, endpoint_provider, endpoint_model, protocol_in, status, estimated, unpriced,
         input_tokens, output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, first_byte_ms, total_ms, CAST(cost AS text) AS cost
       FROM usage_request WHERE status = 'interrupted' AND (at, id) IN (VALUES ${pairs}) ${transaction.forUpdate}`,
      values,
    );
    before.push(...found.map((row) => ({ ...row, cost: BigInt(String(row.cost)) }) as unknown as UsageRow));
  }
  const toCorrect = new Set(before.map(({ id }) => id));
  await replaceRequests(
    transaction,
    before,
    finished.filter(({ id }) => toCorrect.has(id)),
  );
}

async function deleteIntents(transaction: Transaction, ids: readonly string[]): Promise<void> {
  for (const [names, marks] of idBatches(ids))
    await transaction.run(`DELETE FROM inflight WHERE id IN (${marks})`, names);
}

/** Ids of those requests that have a record. */
export async function recordedIds(transaction: Transaction, rows: readonly UsageRow[]): Promise<Set<string>> {
  const known = new Set<string>();
  for (const { values, pairs } of keyBatches(rows)) {
    const found = await transaction.all(`SELECT id FROM usage_request WHERE (at, id) IN (VALUES ${pairs})`, values);
    for (const { id } of found) known.add(String(id));
  }
  return known;
}

/** Sizes of id lists: few, so that few statements are prepared. Short lists are padded with their last id. */
const ID_LIST_SIZES = [1, 8, 64, 512];

function idBatches(ids: readonly string[]): [Row, string][] {
  const groups: [Row, string][] = [];
  for (let start = 0; start < ids.length; ) {
    const size = ID_LIST_SIZES.find((candidate) => candidate >= ids.length - start) ?? 512;
    const part = ids.slice(start, start + size);
    const padded = Array.from({ length: size }, (_, index) => part[index] ?? (part.at(-1) as string));
    const names = Object.fromEntries(padded.map((id, index) => [`id${index}`, id]));
    groups.push([names, padded.map((_, index) => `:id${index}`).join(', ')]);
    start += size;
  }
  return groups;
}
