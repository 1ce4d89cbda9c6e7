/** Endpoint: a model at a provider with one credential, and the protocol in which it is spoken to. */

import type { Json } from '../core/json/json.ts';
import type { CatalogModel, ModelRules } from '../core/model.ts';
import type { Dialect, Provider } from '../core/provider.ts';
import type { Credential } from '../transport/credentials.ts';

export interface Endpoint {
  provider: Provider;
  model: CatalogModel;
  /** The protocol of the upstream, as the provider speaks it. */
  dialect: Dialect;
  credential: Credential;
  /** Extra request headers the operator configured. */
  headers: Record<string, string>;
  /** Members that the client wants this provider's body to have besides. */
  options?: Record<string, Json>;
}

/** The client's own protocol where the model is spoken to in it, else the one that the provider prefers. */
export function dialectFor(provider: Provider, model: CatalogModel, protocol: string): Dialect | undefined {
  const spoken = provider.speaks(model);
  return spoken.find((dialect) => dialect.protocol === protocol) ?? spoken[0];
}

/** The provider's rules with the model's own above them. */
export function rulesOf(endpoint: Endpoint): ModelRules {
  return { ...endpoint.dialect.rules, ...endpoint.model.rules };
}

/** Whose opaque state this endpoint reads and writes. */
export function originOf({ provider, model }: Endpoint): string {
  return provider.family ? `${provider.id}/${provider.family(model.upstreamId)}` : provider.id;
}
