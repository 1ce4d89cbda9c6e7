/** Stop reasons and token usage of Converse, whose `inputTokens` leave out what a cache read or wrote. */

import type { Finish, FinishReason, OpenPart, Usage } from '../../core/chat.ts';
import type { Json } from '../../core/json/json.ts';
import { count, list, record, text } from '../../core/json/shape.ts';
import { lookUp } from '../../core/plain-objects.ts';

const REASONS: Record<string, FinishReason> = {
  end_turn: 'stop',
  tool_use: 'calls',
  max_tokens: 'length',
  stop_sequence: 'stop-sequence',
  content_filtered: 'filtered',
  guardrail_intervened: 'filtered',
  malformed_model_output: 'malformed',
  malformed_tool_use: 'malformed',
  model_context_window_exceeded: 'context-full',
};

/** A model that called waits for results; one that called nothing of the client's does not. */
export function decodeFinish(raw: unknown, called: boolean): Finish {
  if (typeof raw !== 'string') return { reason: called ? 'calls' : 'other' };
  const reason = lookUp(REASONS, raw) ?? 'other';
  if (called && (reason === 'stop' || reason === 'other')) return { reason: 'calls', raw };
  return { reason: reason === 'calls' && !called ? 'stop' : reason, raw };
}

export function isCall({ type }: OpenPart): boolean {
  return type === 'call';
}

const counts = record(
  {
    inputTokens: count,
    outputTokens: count,
    cacheReadInputTokens: count,
    cacheWriteInputTokens: count,
    cacheDetails: list(record({ ttl: text, inputTokens: count }, 'inputTokens')),
  },
  'inputTokens',
);

/** The counts of an answer; `served` is the answer or event that holds them, which says the service tier. */
export function decodeUsage(given: Json, served: Json = {}): Usage | undefined {
  const usage = counts(given);
  if (!usage) return undefined;
  const { inputTokens, outputTokens = 0, cacheReadInputTokens = 0, cacheWriteInputTokens = 0 } = usage;
  const details: Json[] = usage.cacheDetails ?? [];
  const hour = details.reduce((sum, { ttl, inputTokens: tokens }) => (ttl === '1h' ? sum + tokens : sum), 0);
  const tier = served.serviceTier?.type;
  return {
    input: inputTokens + cacheReadInputTokens + cacheWriteInputTokens,
    output: outputTokens,
    ...(cacheReadInputTokens > 0 && { cached: cacheReadInputTokens }),
    ...(cacheWriteInputTokens > 0 && { cacheWrite: cacheWriteInputTokens }),
    ...(hour > 0 && { cacheWrite1h: Math.min(hour, cacheWriteInputTokens) }),
    ...(typeof tier === 'string' && { tier }),
  };
}
