/** Routing policy of a request, merged from its body and header. */

import { GatewayError } from '../core/errors.ts';
import { isObject, type Json, read } from '../core/json/json.ts';
import { NO_POLICY, type RoutingPolicy } from './policy.ts';
import { type PolicyInput, policyOf } from './policy-dialects.ts';
import type { ProviderSlugs } from './slugs.ts';

export const POLICY_HEADER = 'x-polygate-provider';
/** Portkey's header for the one provider of a request. */
const ONE_PROVIDER_HEADER = 'x-portkey-provider';

export interface PolicySources {
  /** The body, if the protocol allows the extension. */
  body?: Json;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  slugs: ProviderSlugs;
  /** Name of our header's value in errors; that of the header by default. */
  policyName?: string | undefined;
}

/**
 * Fields of our header override those of the body; Portkey's header counts where neither says which providers are allowed.
 * Throws `invalid_request` naming the invalid field.
 */
export function readPolicy({ body, headers, slugs, policyName = POLICY_HEADER }: PolicySources): RoutingPolicy {
  const { provider: inBody, models } = body ?? {};
  const header = headers[POLICY_HEADER];
  const named = headers[ONE_PROVIDER_HEADER];
  if (inBody == null && models == null && header === undefined && named === undefined) return NO_POLICY;
  const policy = mergedPolicy(inBody, header === undefined ? undefined : headerObject(String(header)), {
    at: policyName,
    slugs,
  });
  const only = named === undefined ? undefined : [slugs.selector(withoutAt(String(named)), ONE_PROVIDER_HEADER)];
  const limited = only === undefined || policy.only ? policy : { ...policy, only };
  if (models == null) return limited;
  checkModels(models);
  return { ...limited, fallbackModels: [...models, ...(limited.fallbackModels ?? [])] };
}

/** The model's name at the provider that the header names, if it is one; clients of Portkey send bare names. */
export function nameAtProvider(
  requested: string,
  { headers, slugs }: Pick<PolicySources, 'headers' | 'slugs'>,
  isKnown: (name: string) => boolean,
): string {
  const named = headers[ONE_PROVIDER_HEADER];
  if (named === undefined) return requested;
  const name = `${slugs.providerOf(withoutAt(String(named)))}/${requested}`;
  return isKnown(name) ? name : requested;
}

/** Portkey names a provider of its vault as `@openai`. */
function withoutAt(name: string): string {
  return name.startsWith('@') ? name.slice(1) : name;
}

function mergedPolicy(inBody: Json, inHeader: Json, { at, slugs }: Omit<PolicyInput, 'provider'>): RoutingPolicy {
  const fromHeader = inHeader && policyOf({ provider: inHeader, at, slugs });
  const fromBody = inBody == null ? undefined : policyOf({ provider: inBody, at: 'provider', slugs });
  const both = fromHeader && fromBody;
  const merged = both ? policyOf({ provider: { ...inBody, ...inHeader }, at, slugs }) : undefined;
  return merged ?? fromHeader ?? fromBody ?? NO_POLICY;
}

function headerObject(text: string): Json {
  let value: Json;
  try {
    value = read(text);
  } catch {
    value = undefined;
  }
  if (isObject(value)) return value;
  throw new GatewayError('invalid_request', `${POLICY_HEADER} must be a JSON object, e.g. {"sort":"price"}.`, {
    param: POLICY_HEADER,
  });
}

const MAX_FALLBACK_MODELS = 20;

function checkModels(models: Json): void {
  const valid =
    Array.isArray(models) &&
    models.length <= MAX_FALLBACK_MODELS &&
    models.every((model) => typeof model === 'string' && model !== '');
  if (valid) return;
  throw new GatewayError('invalid_request', `models must be a list of up to ${MAX_FALLBACK_MODELS} names of models.`, {
    param: 'models',
  });
}
