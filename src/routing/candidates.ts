/** Candidates of a model: one for each endpoint and credential. */

import type { Catalog } from '../catalog/catalog.ts';
import { GatewayError } from '../core/errors.ts';
import type { CatalogModel } from '../core/model.ts';
import type { OperationName } from '../core/operation.ts';
import { withToolPrices } from '../core/prices.ts';
import type { Candidate } from './candidate.ts';
import { dialectFor, type Endpoint } from './endpoint.ts';
import type { InferenceCall } from './inference-call.ts';
import { type ActiveProvider, findModel, type ModelDirectory, type RoutedEndpoint } from './model-directory.ts';

/** A candidate with its endpoint; an unusable candidate has none. */
export interface EndpointCandidate extends Candidate {
  endpoint?: Endpoint;
}

export interface CandidateOptions {
  /** Index of the model among the requested model and its fallbacks. */
  rank: number;
  call: Pick<InferenceCall, 'protocol' | 'operation'>;
}

/** Candidates of a requested model for calls of one kind. */
interface KnownCandidates {
  operation: OperationName;
  protocol: string;
  candidates: readonly EndpointCandidate[];
}

/** Candidates of requested models, by name: a catalog is immutable, and so are they. */
const candidatesByCatalog = new WeakMap<Catalog, Map<string, KnownCandidates[]>>();

/**
 * Throws and rejects with `model_not_found`, `unavailable` where models of its provider cannot be read, and `invalid_request`
 * for a model or a provider that does not offer the operation.
 */
export function candidatesFor(
  models: ModelDirectory,
  name: string,
  { rank, call }: CandidateOptions,
): readonly EndpointCandidate[] | Promise<readonly EndpointCandidate[]> {
  const { models: routes } = models.routes;
  const resolved = models.catalog().resolveAlias(name);
  const operation = call.operation.name;
  const protocol = call.protocol.id;

  function found(model: CatalogModel | undefined): readonly EndpointCandidate[] {
    const id = model?.id ?? resolved;
    const candidates = routedCandidates(models, id, { model, call });
    if (!model?.unlisted) {
      const known = cacheOf(models.catalog());
      known.set(resolved, [...(known.get(resolved) ?? []), { operation, protocol, candidates }]);
    }
    return ranked(candidates);
  }

  /** Those in the cache are of the requested model, which is the first. */
  function ranked(candidates: readonly EndpointCandidate[]): readonly EndpointCandidate[] {
    return rank === 0 ? candidates : candidates.map((candidate) => ({ ...candidate, rank }));
  }

  const sameName = cacheOf(models.catalog()).get(resolved);
  const known = sameName?.find((one) => one.operation === operation && one.protocol === protocol);
  if (known) return ranked(known.candidates);
  const model = routes.has(resolved) ? undefined : findModel(models, resolved);
  return model instanceof Promise ? model.then(found) : found(model);
}

/** Holds only names that the catalog or the configuration knows. */
function cacheOf(catalog: Catalog): Map<string, KnownCandidates[]> {
  const known = candidatesByCatalog.get(catalog);
  if (known) return known;
  const created = new Map<string, KnownCandidates[]>();
  candidatesByCatalog.set(catalog, created);
  return created;
}

function routedCandidates(
  models: ModelDirectory,
  id: string,
  { model, call }: { model: CatalogModel | undefined; call: CandidateOptions['call'] },
): EndpointCandidate[] {
  const routed = models.routes.models.get(id);
  if (routed) return routed.flatMap((entry) => configuredCandidates(models, id, { entry, call }));
  const active = model && models.providers.get(model.provider);
  if (!active) return [];
  const plain = { provider: model.provider, model: model.upstreamId, priority: 0, facts: {} };
  return credentialCandidates(active, model, { entry: plain, call });
}

interface WantedEndpoint extends Pick<CandidateOptions, 'call'> {
  entry: RoutedEndpoint;
}

function configuredCandidates(
  models: ModelDirectory,
  id: string,
  { entry, call }: WantedEndpoint,
): EndpointCandidate[] {
  const active = models.providers.get(entry.provider);
  if (active) {
    const model = active.modelOf(entry.model);
    const pricing = entry.pricing ? withToolPrices(entry.pricing, model.pricing) : model.pricing;
    const named = { ...model, id, pricing };
    return credentialCandidates(active, named, { entry, call });
  }
  return [
    {
      ...candidateOf(entry, id),
      id: `${entry.provider}/${entry.model}`,
      type: entry.provider,
      pricing: entry.pricing ?? {},
      siblings: 1,
      unusable: `the provider "${entry.provider}" is not ready`,
    },
  ];
}

function credentialCandidates(
  active: ActiveProvider,
  model: CatalogModel,
  { entry, call }: WantedEndpoint,
): EndpointCandidate[] {
  const { provider, headers, typeId } = active;
  checkUse(model, call.operation.name);
  const dialect = dialectFor(provider, model, call);
  if (!dialect) {
    const use = call.operation.name === 'embed' ? 'embeds no texts.' : 'makes videos: ask for them at POST /v1/videos.';
    throw useless(`The provider "${provider.id}" ${use}`);
  }
  const credentials = active.credentials.all();
  return credentials.map((credential) => ({
    ...candidateOf(entry, model.id),
    id: `${provider.id}/${model.upstreamId}#${credential.id}`,
    type: typeId,
    pricing: model.pricing,
    siblings: credentials.length,
    ...(credentials.length > 1 && { credential: credential.number }),
    endpoint: { provider, headers, model, dialect, credential },
  }));
}

/** Models that write nothing that a conversation asks for, with the path that is for them. */
const OTHER_USES = [
  { modality: 'video', use: 'makes videos', path: 'POST /v1/videos' },
  { modality: 'embeddings', use: 'embeds texts', path: 'POST /v1/embeddings' },
] as const;

/** Whether a conversation with the model is possible. */
export function writesAnswers({ outputModalities }: Pick<CatalogModel, 'outputModalities'>): boolean {
  return outputModalities.some((modality) => OTHER_USES.every((other) => other.modality !== modality));
}

function checkUse({ id, outputModalities }: CatalogModel, operation: OperationName): void {
  if (operation === 'embed') {
    if (!outputModalities.includes('embeddings')) throw useless(`The model "${id}" embeds no texts.`);
    return;
  }
  if (writesAnswers({ outputModalities })) return;
  const { use, path } = OTHER_USES.find(({ modality }) => outputModalities.includes(modality)) ?? OTHER_USES[0];
  throw useless(`The model "${id}" ${use}: ask for them at ${path}.`);
}

function useless(message: string): GatewayError {
  return new GatewayError('invalid_request', message, { param: 'model' });
}

function candidateOf({ provider, model, priority, weight, facts }: RoutedEndpoint, name: string) {
  return { model: name, rank: 0, provider, upstreamModel: model, priority, weight, facts };
}
