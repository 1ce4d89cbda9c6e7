/** Routing policy of a request, merged from its body and header. */

import { GatewayError } from '../core/errors.ts';
import { isObject, type Json, read } from '../core/json/json.ts';
import { NO_POLICY, type RoutingPolicy } from './policy.ts';
import { policyOf } from './policy-dialects.ts';
import type { ProviderSlugs } from './slugs.ts';

export const POLICY_HEADER = 'x-polygate-provider';

export interface PolicySources {
  /** The body, if the protocol allows the extension. */
  body?: Json;
  header: string | string[] | undefined;
  slugs: ProviderSlugs;
}

/** Header fields override body fields. Throws `invalid_request` naming the invalid field. */
export function readPolicy({ body, header, slugs }: PolicySources): RoutingPolicy {
  const { provider: inBody, models } = body ?? {};
  if (inBody == null && models == null && header === undefined) return NO_POLICY;
  const inHeader = header === undefined ? undefined : headerObject(String(header));
  const fromHeader = inHeader && policyOf({ provider: inHeader, at: POLICY_HEADER, slugs });
  const fromBody = inBody == null ? undefined : policyOf({ provider: inBody, at: 'provider', slugs });
  const both = fromHeader && fromBody;
  const merged = both ? policyOf({ provider: { ...inBody, ...inHeader }, at: POLICY_HEADER, slugs }) : undefined;
  const policy = merged ?? fromHeader ?? fromBody ?? NO_POLICY;
  if (models == null) return policy;
  checkModels(models);
  return { ...policy, fallbackModels: [...models, ...(policy.fallbackModels ?? [])] };
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
