/** Candidates of a model: one for each endpoint and credential. */

import { GatewayError } from '../core/errors.ts';
import type { CatalogModel } from '../core/model.ts';
import type { Candidate } from './candidate.ts';
import { dialectFor, type Endpoint } from './endpoint.ts';
import { type ActiveProvider, findModel, type ModelDirectory, type RoutedEndpoint } from './model-directory.ts';

/** A candidate with its endpoint; an unusable candidate has none. */
export interface EndpointCandidate extends Candidate {
  endpoint?: Endpoint;
}

export interface CandidateOptions {
  /** Index of the model among the requested model and its fallbacks. */
  rank: number;
  /** The id of the client's protocol. */
  protocol: string;
}

/** Throws `model_not_found`, and `invalid_request` for a model or a provider that only makes videos. */
export async function candidatesFor(
  models: ModelDirectory,
  name: string,
  { rank, protocol }: CandidateOptions,
): Promise<EndpointCandidate[]> {
  const { aliases, models: routes } = models.routes;
  const resolved = aliases.get(name) ?? name;
  const model = routes.has(resolved) ? undefined : await findModel(models, resolved);
  const id = model?.id ?? resolved;
  const routed = routes.get(id);
  if (routed)
    return routed
      .flatMap((entry) => configuredCandidates(models, id, entry, protocol))
      .map((candidate) => ({ ...candidate, rank }));
  if (!model) return [];
  const active = models.providers.get(model.provider);
  if (!active) return [];
  const plain = { provider: model.provider, model: model.upstreamId, priority: 0, facts: {} };
  return credentialCandidates(active, model, plain, protocol).map((candidate) => ({ ...candidate, rank }));
}

function configuredCandidates(
  models: ModelDirectory,
  id: string,
  entry: RoutedEndpoint,
  protocol: string,
): EndpointCandidate[] {
  const active = models.providers.get(entry.provider);
  if (active) {
    const model = active.modelOf(entry.model);
    return credentialCandidates(active, { ...model, id, pricing: entry.pricing ?? model.pricing }, entry, protocol);
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
  entry: RoutedEndpoint,
  protocol: string,
): EndpointCandidate[] {
  const { provider, headers, typeId } = active;
  refuseVideoModel(model);
  const dialect = dialectFor(provider, model, protocol);
  if (!dialect) throw onlyVideos(`provider "${provider.id}"`);
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

function refuseVideoModel({ id, outputModalities }: CatalogModel): void {
  if (outputModalities.some((modality) => modality !== 'video')) return;
  throw onlyVideos(`model "${id}"`);
}

function onlyVideos(subject: string): GatewayError {
  return new GatewayError('invalid_request', `The ${subject} makes videos: ask for them at POST /v1/videos.`, {
    param: 'model',
  });
}

function candidateOf({ provider, model, priority, weight, facts }: RoutedEndpoint, name: string) {
  return { model: name, rank: 0, provider, upstreamModel: model, priority, weight, facts };
}
