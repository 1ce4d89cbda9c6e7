/**
 * Betas of Anthropic at other platforms, where an unknown one fails the whole request. Those that a platform is known to refuse
 * are left out, those that it knows by another name are renamed, and others are sent: a new one may be the point of a request.
 */

import { GatewayError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import type { ForwardedHeader } from '../../core/provider.ts';
import { type DialectStep, markDropped, removeField } from '../dialect/step.ts';

/** The platform's name of a beta; null for one that it refuses. */
export type BetaNames = Readonly<Record<string, string | null>>;

export const BETA_HEADER = 'anthropic-beta';

/** Refused by Amazon Bedrock and Vertex AI alike; data from the tables of LiteLLM and Envoy AI Gateway, who probe them, and from reports of users. */
export const COMMON_BETAS: BetaNames = {
  'adaptive-thinking-2026-01-28': null,
  'advanced-tool-use-2025-11-20': 'tool-search-tool-2025-10-19',
  'advisor-tool-2026-03-01': null,
  'afk-mode-2026-01-31': null,
  'claude-code-20250219': null,
  'code-execution-2025-08-25': null,
  'extended-cache-ttl-2025-04-11': null,
  'fallback-credit-2026-06-01': null,
  'fast-mode-2026-02-01': null,
  'files-api-2025-04-14': null,
  'mcp-client-2025-04-04': null,
  'mcp-client-2025-11-20': null,
  'mcp-servers-2025-12-04': null,
  'oauth-2025-04-20': null,
  'output-128k-2025-02-19': null,
  'prompt-caching-scope-2026-01-05': null,
  'redact-thinking-2026-02-12': null,
  'skills-2025-10-02': null,
  'structured-outputs-2025-11-13': null,
  'thinking-token-count-2026-05-13': null,
  'token-efficient-tools-2025-02-19': null,
  'token-efficient-tools-2026-03-28': null,
  'web-fetch-2025-09-10': null,
};

/** Their effect exists at Anthropic alone, and the platforms refuse unknown members. */
const REFUSED_FIELDS = ['speed', 'service_tier'];

const REFERENCES = ['url', 'file'];

/** Takes the members out whose beta the platforms refuse, and names them. */
export const withoutRefusedFields: DialectStep = (body, _rules, result) => {
  for (const field of REFUSED_FIELDS) {
    if (body[field] === undefined) continue;
    removeField(body, field, result);
    markDropped(field, result);
  }
  for (const holder of cacheable(body)) {
    if (!isObject(holder) || !isObject(holder.cache_control) || holder.cache_control.scope === undefined) continue;
    removeField(holder.cache_control, 'scope', result);
    markDropped('cache_control.scope', result);
  }
};

/** Refuses media by reference: the platforms fetch no URLs and keep no files. */
export const refuseReferences: DialectStep = (body) => {
  for (const message of listOf(body.messages)) {
    for (const block of blocksIn(message)) {
      if (!isObject(block) || !isObject(block.source) || !REFERENCES.includes(block.source.type)) continue;
      const text = 'Claude at this provider takes images and documents by their content, not by URL or file id.';
      throw new GatewayError('unsupported_modality', text, { param: 'messages' });
    }
  }
};

function* cacheable(body: Json): Generator<Json> {
  yield body;
  yield* listOf(body.system);
  yield* listOf(body.tools);
  for (const message of listOf(body.messages)) yield* blocksIn(message);
}

/** The blocks of a message, and those inside of them. */
function blocksIn(holder: Json, found: Json[] = []): Json[] {
  if (!isObject(holder)) return found;
  for (const block of listOf(holder.content)) {
    found.push(block);
    blocksIn(block, found);
  }
  return found;
}

/** The items of a list that a client may have written otherwise. */
export function listOf(value: Json): Json[] {
  return Array.isArray(value) ? value : [];
}

/** The betas in the header of a client, as the platform takes them. */
export function betasFor(names: BetaNames, value: string): { sent: string[]; dropped: string[] } {
  const asked = value.split(',').flatMap((beta) => beta.trim() || []);
  const nameOf = (beta: string) => (Object.hasOwn(names, beta) ? names[beta] : beta);
  return {
    sent: [...new Set(asked.flatMap((beta) => nameOf(beta) ?? []))],
    dropped: asked.filter((beta) => nameOf(beta) === null).map((beta) => `${BETA_HEADER}: ${beta}`),
  };
}

/** Forwarding of headers where the betas go out in the header: those that the platform takes. */
export function forwardingBetas(names: BetaNames): (name: string, value: string) => ForwardedHeader {
  return (name, value) => {
    if (name !== BETA_HEADER) return { value, dropped: [] };
    const { sent, dropped } = betasFor(names, value);
    return { value: sent.join(',') || undefined, dropped };
  };
}
