/** Endpoint: a model at a provider with one credential, and the dialect of its protocol. */

import type { Json } from '../core/json/json.ts';
import type { CatalogModel, ModelRules } from '../core/model.ts';
import type { Operation } from '../core/operation.ts';
import type { Protocol } from '../core/protocol.ts';
import type { Dialect, Provider } from '../core/provider.ts';
import { upstreamProtocolOf } from '../protocols/index.ts';
import type { Credential } from '../transport/credentials.ts';

export interface Endpoint {
  provider: Provider;
  model: CatalogModel;
  /** Dialect of the upstream's protocol. */
  dialect: Dialect;
  /** The usual protocol, if the server turned out not to serve it. */
  absent?: string;
  credential: Credential;
  /** Configured extra request headers. */
  headers: Record<string, string>;
  /** Extra fields that the client adds to the body for this provider. */
  options?: Record<string, Json>;
}

/**
 * Chooses among the provider's protocols for the model that offer the operation: the client's own, else the provider's
 * preferred one. If none offers it, the preferred one.
 */
export function dialectFor(
  provider: Provider,
  model: CatalogModel,
  { protocol, operation }: { protocol: Protocol; operation: Operation },
): Dialect | undefined {
  const spoken = provider.speaks(model);
  const offering = spoken.filter((dialect) => upstreamProtocolOf(dialect.protocol).operations[operation.name]);
  return offering.find((dialect) => dialect.protocol === protocol.id) ?? offering[0] ?? spoken[0];
}

/** The models of its vendor that a provider serves. */
export function servedModels(provider: Provider, models: readonly CatalogModel[]): CatalogModel[] {
  return models.filter((model) => provider.video !== undefined || provider.speaks(model).length > 0);
}

/** The provider's rules, overridden by the model's. */
export function rulesOf(endpoint: Endpoint): ModelRules {
  return { ...endpoint.dialect.rules, ...endpoint.model.rules };
}

/** Issuer of the opaque state (reasoning signatures) that this endpoint can read. */
export function originOf({ provider, model, dialect, credential }: Endpoint): string {
  const issuer = provider.family ? `${provider.id}/${provider.family(model.upstreamId, model.base)}` : provider.id;
  const { state } = upstreamProtocolOf(dialect.protocol).operations.complete;
  return state?.ofAccount ? `${issuer} ${dialect.protocol} ${credential.id}` : issuer;
}

/** The endpoint in another protocol of its provider that offers the operation; undefined if there is none. */
export function inOtherProtocol(endpoint: Endpoint, operation: Operation): Endpoint | undefined {
  const { provider, model, dialect } = endpoint;
  const other = provider
    .speaks(model)
    .find(({ protocol }) => protocol !== dialect.protocol && upstreamProtocolOf(protocol).operations[operation.name]);
  return other && { ...endpoint, dialect: other, absent: dialect.protocol };
}
