/** Records of requests in the order of their time, and how they are found by other names than their ids. */

import { hash } from 'node:crypto';
import { timeOfRequestId } from '../core/request-id.ts';
import type { Row, Transaction, Value } from './operation.ts';
import type { UsageRow } from './usage-row.ts';

/** Largest difference between the time in an id and the start of its request. Ids of earlier versions are random. */
export const MAX_ID_SKEW_MS = 3_600_000;
/** Time whose names are stored side by side. */
export const NAME_SPAN_MS = 16_384;
/** Time for which a request is found by other names. */
export const NAME_RETENTION_MS = 3 * 24 * 3_600_000;
const HASH_DIGITS = 12;

/** First part of the key of a request. */
function requestTimeOf({ id, started_at }: Pick<UsageRow, 'id' | 'started_at'>): number {
  const time = timeOfRequestId(id);
  return time !== undefined && Math.abs(time - started_at) <= MAX_ID_SKEW_MS ? time : started_at;
}

export async function insertRequests(transaction: Transaction, rows: readonly UsageRow[]): Promise<void> {
  if (rows.length === 0) return;
  await transaction.insert('usage_request', rows.map(requestRow));
  const names = rows.flatMap(requestNames);
  if (names.length > 0) await transaction.insert('usage_request_name', names, { ignoreDuplicates: true });
}

/** Named one by one: to copy so many members of another object takes as long as to insert the row. */
export function requestRow(row: UsageRow): Row {
  return {
    at: requestTimeOf(row),
    id: row.id,
    started_at: row.started_at,
    key_id: row.key_id,
    model: row.model,
    endpoint_provider: row.endpoint_provider,
    endpoint_model: row.endpoint_model,
    protocol_in: row.protocol_in,
    protocol_out: row.protocol_out,
    stream: row.stream,
    status: row.status,
    error_code: row.error_code,
    finish: row.finish,
    estimated: row.estimated,
    attempts: row.attempts,
    input_tokens: row.input_tokens,
    output_tokens: row.output_tokens,
    cached_tokens: row.cached_tokens,
    cache_write_tokens: row.cache_write_tokens,
    reasoning_tokens: row.reasoning_tokens,
    audio_tokens: row.audio_tokens,
    searches: row.searches,
    cost: row.cost,
    first_byte_ms: row.first_byte_ms,
    total_ms: row.total_ms,
    upstream_id: row.upstream_id,
    ended_at: row.ended_at ?? null,
    trace: row.trace ?? null,
    tags: row.tags === undefined ? '' : row.tags,
    tool_failures: row.tool_failures ?? null,
    unpriced: row.unpriced ?? 0,
  } satisfies Record<keyof UsageRow | 'at', Value>;
}

/** A request is found by the id of the upstream's answer, and by its own where that does not tell its time. */
export function requestNames(row: UsageRow): Row[] {
  const at = requestTimeOf(row);
  const span = Math.floor(at / NAME_SPAN_MS);
  const names: Row[] = [];
  if (row.upstream_id !== null) names.push({ span, hash: hashOf(row.upstream_id), at });
  if (timeOfRequestId(row.id) !== at) names.push({ span, hash: hashOf(row.id), at });
  return names;
}

function hashOf(name: string): number {
  return Number.parseInt(hash('sha1', name, 'hex').slice(0, HASH_DIGITS), 16);
}

/** Costs exceed the largest exact number. */
export const REQUEST_COLUMNS = '*, CAST(cost AS text) AS cost';
const BY_TIME = `SELECT ${REQUEST_COLUMNS} FROM usage_request WHERE at = :at`;

/** The latest request with this id, or with this id of the upstream's answer; of a key, if one is given. */
export async function findRequest(
  transaction: Transaction,
  { id, keyId }: { id: string; keyId?: string },
): Promise<Row | undefined> {
  const at = timeOfRequestId(id);
  const ofKey = keyId === undefined ? '' : 'AND key_id = :keyId';
  const values = { id, ...(keyId !== undefined && { keyId }) };
  const sql = `${BY_TIME} AND id = :id ${ofKey}`;
  const [found] = at === undefined ? [] : await transaction.all(sql, { at, ...values });
  if (found) return found;
  for (const time of await timesOfName(transaction, id)) {
    const named = `${BY_TIME} AND (id = :id OR upstream_id = :id) ${ofKey}`;
    const [row] = await transaction.all(named, { at: time, ...values });
    if (row) return row;
  }
  return undefined;
}

/** Steps from span to span, newest first, so that each costs two look-ups: over three days of steady use up to 30,000, in 20 ms. */
async function timesOfName(transaction: Transaction, name: string): Promise<number[]> {
  const rows = await transaction.all(
    `WITH RECURSIVE spans (span) AS (
       SELECT max(span) FROM usage_request_name
       UNION ALL
       SELECT (SELECT max(span) FROM usage_request_name WHERE span < spans.span) FROM spans WHERE spans.span IS NOT NULL
     )
     SELECT usage_request_name.at FROM spans JOIN usage_request_name ON usage_request_name.span = spans.span
     WHERE hash = :hash ORDER BY usage_request_name.at DESC`,
    { hash: hashOf(name) },
  );
  return rows.map(({ at }) => Number(at));
}

/** Keys of requests as parameters of a list of pairs; few sizes, so that few statements are prepared. */
export function keyBatches(rows: readonly Pick<UsageRow, 'id' | 'started_at'>[]): { values: Row; pairs: string }[] {
  const batches: { values: Row; pairs: string }[] = [];
  for (let start = 0; start < rows.length; ) {
    const size = KEY_LIST_SIZES.find((candidate) => candidate >= rows.length - start) ?? MAX_KEYS;
    const values: Row = {};
    const pairs: string[] = [];
    for (let index = 0; index < size; index++) {
      const row = rows[Math.min(start + index, rows.length - 1)] as (typeof rows)[number];
      values[`at${index}`] = requestTimeOf(row);
      values[`id${index}`] = row.id;
      pairs.push(`(CAST(:at${index} AS bigint), CAST(:id${index} AS text))`);
    }
    batches.push({ values, pairs: pairs.join(', ') });
    start += size;
  }
  return batches;
}

const MAX_KEYS = 512;
const KEY_LIST_SIZES = [1, 8, 64, MAX_KEYS];
