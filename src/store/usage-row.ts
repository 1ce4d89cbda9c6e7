/** Usage record row. */

/** A stored usage record. Timestamps are Unix milliseconds, money is in 1e-12 USD. */
export interface UsageRow {
  id: string;
  started_at: number;
  key_id: string;
  model: string;
  endpoint_provider: string;
  endpoint_model: string;
  protocol_in: string;
  protocol_out: string;
  stream: number;
  status: UsageStatus;
  error_code: string | null;
  finish: string | null;
  estimated: number;
  attempts: number;
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  cache_write_tokens: number;
  reasoning_tokens: number;
  audio_tokens: number;
  searches: number;
  cost: bigint;
  first_byte_ms: number | null;
  total_ms: number;
  upstream_id: string | null;
  /** Absent in records of earlier versions. */
  ended_at?: number | null;
  /** See `routing/stored-trace.ts`. */
  trace?: string | null;
  /** See `records/tags.ts`; null in stored records of earlier versions. */
  tags?: string | null;
  /** Failed tool results of the latest turn; null if the protocol does not mark them, and in records of earlier versions. */
  tool_failures?: number | null;
  /** Whether the price of its tokens was unknown. Absent in records of earlier versions. */
  unpriced?: number;
}

/**
 * `partial`: broke off after the first byte; `failed`: no response; `cancelled`: the client disconnected; `interrupted`: the
 * gateway died during the request.
 */
export type UsageStatus = 'completed' | 'partial' | 'failed' | 'cancelled' | 'interrupted';

/**
 * The one meaning of a failure in sums, summaries and filters, so that their counts agree. What broke off (`partial`) is counted
 * beside it; what was interrupted only where records are read.
 */
export function isFailure(status: unknown): boolean {
  return status === ('failed' satisfies UsageStatus);
}

/** SQL form of `isFailure`. */
export const IS_FAILURE = "status = 'failed'";
export const IS_PARTIAL = "status = 'partial'";

/** A row as a JSON array: the columns of `UsageRow` in their order. Costs are bounded far below 2^53. */
export type EncodedUsage = (string | number | null)[];

/** Row of an encoded record. Elements that a later version adds are ignored. */
export function usageRowOf(record: EncodedUsage): UsageRow {
  return {
    id: record[0],
    started_at: record[1],
    key_id: record[2],
    model: record[3],
    endpoint_provider: record[4],
    endpoint_model: record[5],
    protocol_in: record[6],
    protocol_out: record[7],
    stream: record[8],
    status: record[9],
    error_code: record[10],
    finish: record[11],
    estimated: record[12],
    attempts: record[13],
    input_tokens: record[14],
    output_tokens: record[15],
    cached_tokens: record[16],
    cache_write_tokens: record[17],
    reasoning_tokens: record[18],
    audio_tokens: record[19],
    searches: record[20],
    cost: BigInt(record[21] ?? 0),
    first_byte_ms: record[22],
    total_ms: record[23],
    upstream_id: record[24],
    ended_at: record[25] ?? null,
    trace: record[26] ?? null,
    tags: record[27] ?? '',
    tool_failures: record[28] ?? null,
    unpriced: record[29] ?? 0,
  } as UsageRow;
}
