/**
 * Azure OpenAI and Microsoft Foundry: deployments at a resource, asked by its v1 API or, with a dated version, by the older API,
 * which has the deployment in the address. Claude is asked in the protocol of messages.
 */

import { NO_CREDENTIAL } from '../core/credential.ts';
import type { CatalogModel } from '../core/model.ts';
import type { Destination, OutgoingRequest, Platform } from '../core/platform.ts';
import type { Dialect } from '../core/provider.ts';
import { EXTENSIONS, reasoningAsEffort, without } from './dialect/fields.ts';
import { adaptOpenai, OPENAI_RULES } from './dialect/open-models.ts';
import { applyRules } from './dialect/rules.ts';
import { dialect } from './dialect/step.ts';
import { type BetaNames, forwardingBetas } from './platform/anthropic-betas.ts';
import { createHeaderPlatform } from './platform/headers.ts';
import { providerType } from './type.ts';

/** End of an address that was copied from a portal, a client or an example; the resource comes before it. */
const PATH_OF_RESOURCE =
  /(?:\/api\/projects\/[^/]+)?(?:\/openai(?:\/v1|\/deployments(?:\/[^/]+)?)?(?:\/chat\/completions|\/responses|\/embeddings)?|\/anthropic(?:\/v1)?(?:\/messages)?|\/models(?:\/chat\/completions)?)?\/?$/;
const OPENAI = 'openai';
const ANTHROPIC = 'anthropic';
/** Usual name of a deployment of Claude, which has no base. */
const CLAUDE = /^claude-/;

/** Headers of which a request may have one. */
const CREDENTIAL_HEADERS = ['api-key', 'authorization', 'x-api-key'];

/** Refused by Claude at Foundry, from the table of LiteLLM; the last two say which client asks. */
const BETAS: BetaNames = {
  'advisor-tool-2026-03-01': null,
  'compact-2026-01-12': null,
  'fast-mode-2026-02-01': null,
  'fine-grained-tool-streaming-2025-05-14': null,
  'mcp-servers-2025-12-04': null,
  'output-128k-2025-02-19': null,
  'thinking-binding-controls-2026-08-01': null,
  'token-efficient-tools-2025-02-19': null,
  'claude-code-20250219': null,
  'oauth-2025-04-20': null,
};

/** The vendor of a deployment's model; undefined if nothing says so. */
function vendorOf({ base, upstreamId }: CatalogModel): string | undefined {
  return base?.split('/', 1)[0] ?? (CLAUDE.test(upstreamId) ? ANTHROPIC : undefined);
}

/** Models of other vendors have older names of fields and no Responses. */
function protocolsOf(model: CatalogModel): readonly string[] {
  if (model.rules.protocols) return dialects.map(({ protocol }) => protocol);
  const vendor = vendorOf(model) ?? OPENAI;
  if (vendor === ANTHROPIC) return ['messages'];
  return vendor === OPENAI ? ['chat', 'responses'] : ['chat'];
}

const dialects: readonly Dialect[] = [
  { protocol: 'chat', rules: OPENAI_RULES, adapt: adaptOpenai },
  { protocol: 'responses', rules: OPENAI_RULES, keepsResponses: true },
  // The member of the beta `fast-mode`.
  { protocol: 'messages', adapt: dialect(without('speed')), forwardHeader: forwardingBetas(BETAS), countsTokens: true },
];

/** Models of other vendors than OpenAI. */
const otherDialects = dialects.map((own): Dialect => {
  if (own.protocol !== 'chat') return own;
  return {
    protocol: 'chat',
    rules: { tokenField: 'max_tokens', systemRole: 'system' },
    adapt: dialect(reasoningAsEffort, without(...EXTENSIONS), applyRules),
  };
});

function pathOf(destination: Destination, apiVersion: string | undefined): string {
  const { path } = destination;
  const protocol = destination.type === 'inference' ? destination.protocol : undefined;
  if (protocol === 'messages') return `/${ANTHROPIC}${path}`;
  if (apiVersion === undefined) return `/openai/v1${path}`;
  const query = `?api-version=${apiVersion}`;
  if (destination.type !== 'inference' || protocol === 'responses') return `/openai${path}${query}`;
  return `/openai/deployments/${encodeURIComponent(destination.model)}${path}${query}`;
}

function createPlatform({ baseUrl, apiVersion }: { baseUrl: string; apiVersion?: string }): Platform {
  const openai = createHeaderPlatform({ baseUrl, credential: (key) => ({ 'api-key': key }) });
  const claude = createHeaderPlatform({
    baseUrl,
    headers: { 'anthropic-version': '2023-06-01' },
    credential: (key) => ({ 'x-api-key': key }),
  });
  return {
    url: (destination) => baseUrl + pathOf(destination, apiVersion),
    authorize(request, value, now) {
      const { authorize } = request.url.startsWith(`${baseUrl}/${ANTHROPIC}/`) ? claude : openai;
      return authorize(request, hasCredential(request) ? NO_CREDENTIAL : value, now);
    },
  };
}

/** Whether the operator configured a header in place of the credential. */
function hasCredential({ headers }: OutgoingRequest): boolean {
  return Object.keys(headers).some((name) => CREDENTIAL_HEADERS.includes(name.toLowerCase()));
}

export const azure = providerType({
  id: 'azure',
  name: 'Azure OpenAI and Microsoft Foundry',
  dialects,
  dialectsOf: (model) => ((vendorOf(model) ?? OPENAI) === OPENAI ? dialects : otherDialects),
  protocolsOf,
  family: (model, base) => base?.split('/', 1)[0] ?? model,
  environment: [],
  keyless: true,
  identity: 'azure',
  namesDeployments: true,
  hasApiVersions: true,
  version: PATH_OF_RESOURCE,
  platform: createPlatform,
});
