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
}

/**
 * `partial`: broke off after the first byte; `failed`: no response; `cancelled`: the client disconnected; `interrupted`: the
 * gateway died during the request.
 */
export type UsageStatus = 'completed' | 'partial' | 'failed' | 'cancelled' | 'interrupted';
