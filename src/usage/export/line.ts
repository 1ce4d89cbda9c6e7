/** A usage record as a line of JSON. */

import { decimalOf } from '../../core/money.ts';
import { tagsOf } from '../../records/tags.ts';
import type { Row } from '../../store/operation.ts';

const TEXTS = ['key_id', 'model', 'endpoint_provider', 'endpoint_model', 'protocol_in', 'protocol_out'];
const OUTCOME = ['status', 'error_code', 'finish'];
const TOKENS = [
  'input_tokens',
  'output_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  'audio_tokens',
];

/** Encodes a usage record as JSON: times in ISO 8601 or milliseconds, cost in USD as a decimal. */
export function lineOf(row: Row): string {
  const record = {
    id: row.id,
    started_at: new Date(Number(row.started_at)).toISOString(),
    ...pick(row, TEXTS),
    stream: Number(row.stream) === 1,
    ...pick(row, OUTCOME),
    attempts: Number(row.attempts),
    ...Object.fromEntries(TOKENS.map((name) => [name, Number(row[name])])),
    searches: Number(row.searches),
    estimated: Number(row.estimated) === 1,
    cost: decimalOf(BigInt(String(row.cost))),
    first_byte_ms: row.first_byte_ms === null ? null : Number(row.first_byte_ms),
    total_ms: Number(row.total_ms),
    upstream_id: row.upstream_id,
    tool_failures: row.tool_failures == null ? null : Number(row.tool_failures),
    tags: tagsOf(String(row.tags ?? '')),
  };
  return `${JSON.stringify(record)}\n`;
}

/** Ids of the lines of an object. */
export function idsIn(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line).id);
}

function pick(row: Row, names: readonly string[]): Row {
  return Object.fromEntries(names.map((name) => [name, row[name] ?? null]));
}
