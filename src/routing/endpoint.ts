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
  /** Configured extra request headers. */
  headers: Record<string, string>;
  /** Extra fields that the client adds to the body for this provider. */
  options?: Record<string, Json>;
}

/** The client's protocol if the provider speaks it for the model, else the provider's preferred one. */
export function dialectFor(provider: Provider, model: CatalogModel, protocol: string): Dialect | undefined {
  const spoken = provider.speaks(model);
  return spoken.find((dialect) => dialect.protocol === protocol) ?? spoken[0];
}

/** The provider's rules, overridden by the model's. */
export function rulesOf(endpoint: Endpoint): ModelRules {
  return { ...endpoint.dialect.rules, ...endpoint.model.rules };
}

/** Issuer of the opaque state (reasoning signatures) that this endpoint can read. */
export function originOf({ provider, model }: Endpoint): string {
  return provider.family ? `${provider.id}/${provider.family(model.upstreamId)}` : provider.id;
}
