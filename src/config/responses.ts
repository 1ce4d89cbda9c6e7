/** Resolved settings of the Responses protocol. */

import type { ResponsesConfig } from './resolved.ts';
import { RESPONSES_DEFAULTS as DEFAULTS, type ResponsesEntry } from './responses-schema.ts';
import { parseDuration, parseSize } from './units.ts';

export function resolveResponses(entry: ResponsesEntry): ResponsesConfig {
  return {
    store: entry.store ?? DEFAULTS.store,
    keepMs: parseDuration(entry.keep ?? DEFAULTS.keep) as number,
    maxBytes: parseSize(entry.max_size ?? DEFAULTS.maxSize) as number,
    maxResponses: entry.max_responses ?? DEFAULTS.maxResponses,
    maxChainBytes: parseSize(entry.max_chain_size ?? DEFAULTS.maxChainSize) as number,
    maxChainItems: entry.max_chain_items ?? DEFAULTS.maxChainItems,
    maxBackground: entry.max_background ?? DEFAULTS.maxBackground,
    backgroundTimeoutMs: parseDuration(entry.background_timeout ?? DEFAULTS.backgroundTimeout) as number,
    compaction: entry.compaction ?? DEFAULTS.compaction,
    hostedTools: entry.hosted_tools ?? DEFAULTS.hostedTools,
  };
}
