/**
 * Betas of Anthropic at other platforms, where an unknown one fails the whole request. Those that a platform is known to refuse
 * are left out, those that it knows by another name are renamed, and others are sent: a new one may be the point of a request.
 */

/** The platform's name of a beta; null for one that it refuses. */
export type BetaNames = Readonly<Record<string, string | null>>;

export const BETA_HEADER = 'anthropic-beta';

/** Refused by Amazon Bedrock and Vertex AI alike; data from the tables of LiteLLM and Envoy AI Gateway, who probe them. */
export const COMMON_BETAS: BetaNames = {
  'advanced-tool-use-2025-11-20': 'tool-search-tool-2025-10-19',
  'advisor-tool-2026-03-01': null,
  'claude-code-20250219': null,
  'code-execution-2025-08-25': null,
  'fast-mode-2026-02-01': null,
  'files-api-2025-04-14': null,
  'mcp-client-2025-04-04': null,
  'mcp-client-2025-11-20': null,
  'oauth-2025-04-20': null,
  'prompt-caching-scope-2026-01-05': null,
  'skills-2025-10-02': null,
  'structured-outputs-2025-11-13': null,
  'web-fetch-2025-09-10': null,
};

/** The betas in the header of a client, as the platform takes them. */
export function betasFor(names: BetaNames, value: string): { sent: string[]; dropped: string[] } {
  const asked = value.split(',').flatMap((beta) => beta.trim() || []);
  const nameOf = (beta: string) => (Object.hasOwn(names, beta) ? names[beta] : beta);
  return {
    sent: [...new Set(asked.flatMap((beta) => nameOf(beta) ?? []))],
    dropped: asked.filter((beta) => nameOf(beta) === null).map((beta) => `${BETA_HEADER}: ${beta}`),
  };
}
