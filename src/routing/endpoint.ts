/** Endpoint: a model at a provider with one credential. */

import type { Json } from '../core/json/json.ts';
import type { CatalogModel, ModelRules } from '../core/model.ts';
import type { Provider } from '../core/provider.ts';
import type { Credential } from '../transport/credentials.ts';

export interface Endpoint {
  provider: Provider;
  model: CatalogModel;
  credential: Credential;
  /** Extra request headers the operator configured. */
  headers: Record<string, string>;
  /** Members that the client wants this provider's body to have besides. */
  options?: Record<string, Json>;
}

/** The provider's rules with the model's own above them. */
export function rulesOf(endpoint: Endpoint): ModelRules {
  return { ...endpoint.provider.rules, ...endpoint.model.rules };
}

/** Whose opaque state this endpoint reads and writes. */
export function originOf({ provider, model }: Endpoint): string {
  return provider.family ? `${provider.id}/${provider.family(model.upstreamId)}` : provider.id;
}
