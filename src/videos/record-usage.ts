/** Usage recording: transfers the cost of a task from the ledger to the usage records of its key. Idempotent. */

import type { JobHandler } from '../jobs/job.ts';
import type { TerminalStatus } from '../records/video-task.ts';
import type { VideoUse } from '../store/operations/video-usage.ts';
import type { UsageStatus } from '../store/usage-row.ts';
import type { VideoContext } from './context.ts';

const CONCURRENCY_LIMITS = { total: 32, lane: 32 };
const MAX_RUN_MS = 60_000;

export function createUsageHandler({ store, clock, taskCharged }: VideoContext): JobHandler {
  return {
    kind: 'video-use',
    limits: CONCURRENCY_LIMITS,
    maxRunMs: MAX_RUN_MS,
    async run(job) {
      const lease = { id: job.id, lease: job.lease };
      const use = await store.call('readVideoUse', { id: job.ref });
      if (!use) return store.call('finishVideoJob', { lease });
      await store.call('recordTaskUsage', { row: usageRowOf(job.ref, use), held: use.open });
      taskCharged?.({ keyId: use.owner, tags: use.tags });
      await store.call('finishVideoUse', { lease, id: job.ref, revision: use.revision, now: clock.now() });
    },
  };
}

const STATUSES: Record<TerminalStatus, UsageStatus> = {
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
  expired: 'failed',
};

function usageRowOf(id: string, use: VideoUse) {
  const { owner, model, provider, createdAt, settledAt, status, errorCode, tags, cost, revision } = use;
  return {
    id,
    started_at: createdAt,
    key_id: owner,
    model,
    endpoint_provider: provider,
    endpoint_model: model.slice(model.indexOf('/') + 1),
    protocol_in: 'videos',
    protocol_out: 'videos',
    stream: 0,
    status: STATUSES[status],
    error_code: errorCode ?? null,
    finish: null,
    estimated: 0,
    attempts: 1,
    input_tokens: 0,
    output_tokens: 0,
    cached_tokens: 0,
    cache_write_tokens: 0,
    reasoning_tokens: 0,
    audio_tokens: 0,
    searches: 0,
    cost,
    first_byte_ms: null,
    total_ms: settledAt - createdAt,
    upstream_id: null,
    tags,
    revision,
  };
}
