/** Requests and video tasks of all kinds at the borders of days, months and time zones, the same for the same seed. */

import fc from 'fast-check';
import { newTimeOrderedId } from '../../src/core/request-id.ts';
import { MAX_RECORD_COST } from '../../src/core/usage-bounds.ts';
import type { UsageRow } from '../../src/store/usage-row.ts';
import type { Completion, Intent } from '../../src/usage/record.ts';

export const ZONES = ['UTC', 'Europe/Berlin', 'Asia/Kolkata', 'America/St_Johns', 'Australia/Lord_Howe'];
export const KEYS = ['key-1', 'key-2', 'key-3'];
export const TAGS = ['', 'team=search', 'env=prod team=search', 'env=prod team=ads'];

const HOUR_MS = 3_600_000;
/** Midnights, ends of months, years and summer times, and the end of the last leap second. */
const BORDERS = [
  '2016-12-31T23:00Z',
  '2017-01-01T00:00Z',
  '2025-03-30T01:00Z',
  '2025-04-05T15:00Z',
  '2025-10-04T15:30Z',
  '2025-10-26T01:00Z',
  '2025-10-31T23:00Z',
  '2025-11-01T00:00Z',
  '2025-11-02T04:30Z',
  '2025-12-31T18:30Z',
  '2026-02-28T23:00Z',
  '2026-03-01T00:00Z',
].map((text) => Date.parse(text));

/** A request that ends, stays open, is withdrawn or makes a record of a video that is corrected. */
export interface Made {
  intent: Intent;
  ending: 'ends' | 'hangs' | 'withdrawn' | 'video';
  completion: Completion;
  /** Costs of a video by revision. */
  costs: bigint[];
}

const count = fc.oneof(fc.nat(200), fc.nat(1_000_000_000));
const cost = fc.oneof(
  fc.constant(undefined),
  fc.constantFrom(0n, 1n, MAX_RECORD_COST),
  fc.bigInt({ min: 0n, max: MAX_RECORD_COST }),
);

const made = fc.record({
  at: fc.tuple(fc.constantFrom(...BORDERS), fc.constantFrom(-HOUR_MS, -1, 0, 1, 999, HOUR_MS - 1)),
  key: fc.constantFrom(...KEYS),
  tags: fc.constantFrom(...TAGS),
  model: fc.constantFrom('a/m1', 'a/m2', 'b/m1'),
  protocol: fc.constantFrom('chat', 'messages', 'generate', 'responses'),
  stream: fc.boolean(),
  ending: fc.constantFrom('ends', 'ends', 'ends', 'ends', 'hangs', 'withdrawn', 'video'),
  status: fc.constantFrom('completed', 'completed', 'partial', 'failed', 'cancelled'),
  usage: fc.option(
    fc.record({
      input: count,
      output: count,
      cached: count,
      cacheWrite: count,
      reasoning: count,
      estimated: fc.boolean(),
    }),
    { nil: undefined },
  ),
  cost,
  estimate: fc.record({ input: count, cost }),
  costs: fc.array(fc.bigInt({ min: 0n, max: MAX_RECORD_COST }), { minLength: 1, maxLength: 3 }),
});

export function requestsOf(seed: number, length: number): Made[] {
  return fc.sample(made, { seed, numRuns: length }).map((one, index) => {
    const startedAt = one.at[0] + one.at[1];
    const [provider = '', model = ''] = one.model.split('/');
    // The random digits of an id would differ in the two processes.
    const id = `req_${newTimeOrderedId(startedAt).slice(0, 12)}${String(seed).padStart(12, '0')}${String(index).padStart(8, '0')}`;
    const endpoint = { provider, model };
    return {
      intent: {
        ...{ id, startedAt, keyId: one.key, tags: one.tags, model: one.model, endpoint },
        ...{ protocolIn: one.protocol, protocolOut: 'chat', stream: one.stream, estimate: one.estimate },
      },
      ending: one.ending as Made['ending'],
      completion: {
        ...{ endpoint, protocolOut: 'chat', status: one.status, usage: one.usage, cost: one.cost },
        ...{ attempts: 1, total: 1 + (index % 5000), upstreamId: `up-${seed}-${index}` },
      } as Completion,
      costs: one.costs,
    };
  });
}

/** The record of a video task in a revision. */
export function videoRow({ intent, costs }: Made, revision: number): UsageRow & { revision: number } {
  const { provider, model } = intent.endpoint;
  return {
    ...{ id: intent.id, started_at: intent.startedAt, key_id: intent.keyId, model: intent.model },
    ...{ endpoint_provider: provider, endpoint_model: model, protocol_in: 'videos', protocol_out: 'videos', stream: 0 },
    ...{ status: 'completed', error_code: null, finish: null, estimated: 0, attempts: 1 },
    ...{ input_tokens: 0, output_tokens: 0, cached_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 },
    ...{ audio_tokens: 0, searches: 0, cost: costs[revision - 1] ?? 0n, first_byte_ms: null, total_ms: 10 },
    ...{ upstream_id: null, tags: intent.tags, revision },
  };
}
