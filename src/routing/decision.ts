/** Decides, before anything is sent, where a call may go and in what order. */

import { GatewayError } from '../core/errors.ts';
import type { Json } from '../core/json/json.ts';
import { refuseModelMembers } from '../core/model-members.ts';
import { hasAccountState } from './account-state.ts';
import { isAuto, readChoice } from './auto.ts';
import { endpointName, selected } from './candidate.ts';
import { candidatesFor, type EndpointCandidate } from './candidates.ts';
import type { Endpoint } from './endpoint.ts';
import type { InferenceCall } from './inference-call.ts';
import type { ModelDirectory } from './model-directory.ts';
import { splitModelName } from './model-suffix.ts';
import type { RoutingPolicy } from './policy.ts';
import { checkOptions } from './provider-options.ts';
import { type ExcludedCandidate, type RankingContext, rank } from './ranking.ts';
import { POLICY_HEADER, readPolicy } from './request-policy.ts';
import { createSlugs } from './slugs.ts';
import { measuredAs, type RoutingState } from './state.ts';

/** A place that can be tried. */
export type RunnableCandidate = EndpointCandidate & { endpoint: Endpoint };

export interface RoutingDecision {
  /** As the client named it. */
  requested: string;
  /** The gateway's name of the model that was asked for. */
  model: string;
  policy: RoutingPolicy;
  /** In the order in which they are tried. */
  candidates: RunnableCandidate[];
  excluded: ExcludedCandidate<EndpointCandidate>[];
  /** Names the conversation among all of them. */
  conversation: string;
}

export interface DecisionOptions {
  models: ModelDirectory;
  state: Pick<RoutingState, 'breaker' | 'statistics' | 'bindings'>;
  /** Whether the client's key may use a model. */
  allows(model: string): boolean;
  /** The key is bound to models or to a budget, so that no member may have an upstream choose another model. */
  isRestricted?: boolean;
}

/** Throws `model_not_found`, `permission_denied`, and `invalid_request` for a policy that is wrong. */
export async function decideRouting(
  call: InferenceCall,
  requested: string,
  options: DecisionOptions,
): Promise<RoutingDecision> {
  const { models, state, allows, isRestricted = false } = options;
  const slugs = createSlugs(models.slugs);
  const body = call.operation.gatewayFields.includes('provider') ? call.body : undefined;
  const asked = readPolicy({ body, header: call.headers[POLICY_HEADER], slugs });
  const isKnown = (name: string): boolean => models.catalog().find(name) !== undefined;
  const choice = isAuto(requested) && !isKnown(requested) ? readChoice(body?.model_routing_config) : undefined;
  const [first, ...rest] = choice ? [...choice.models, ...(asked.fallbackModels ?? [])] : [requested];
  const { name, wish } = splitModelName(first ?? models.routes.defaultModel ?? requested, isKnown, slugs);
  const named = choice ? rest : asked.fallbackModels;
  const policy = withDefaults({ ...asked, fallbackModels: named, ...choice?.wish, ...wish }, models);

  const own = await candidatesFor(models, name, { rank: 0, protocol: call.protocol.id });
  const model = own[0]?.model ?? name;
  if (!allows(model)) {
    throw new GatewayError('permission_denied', `This key may not use the model "${model}".`, { param: 'model' });
  }
  if (isRestricted) refuseModelMembers(withoutMembers(call.body, call.operation.gatewayFields));
  const others = await fallbackCandidates(named, policy, { ...options, protocol: call.protocol.id });
  const conversation = call.operation.conversation(call.body, call.headers);
  const key = `${call.owner} ${model} ${conversation}`;
  const considered = withHolder(distinct([...own, ...others]), call, () => state.bindings.endpointOf(key));
  checkPin(policy, considered, model);
  const { ranked, leftOut: excluded } = rank(
    considered,
    policy,
    situationOf(call, considered, { state, conversation, key }),
  );
  const candidates = ranked.flatMap(({ endpoint, ...place }) =>
    endpoint ? [{ ...place, endpoint: withOptions(endpoint, place, policy) }] : [],
  );
  for (const { endpoint } of candidates) checkOptions(endpoint, isRestricted);
  return { requested, model, policy, candidates, excluded, conversation: key };
}

function withoutMembers(body: Json, names: readonly string[]): Json {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !names.includes(name)));
}

/** An endpoint that several of the models have is tried once. */
function distinct(places: readonly EndpointCandidate[]): EndpointCandidate[] {
  const first = new Map(places.toReversed().map((place) => [place.id, place]));
  return places.filter((place) => first.get(place.id) === place);
}

/** What one account of a provider keeps for a conversation, the others cannot read. */
function withHolder(
  places: EndpointCandidate[],
  call: InferenceCall,
  holderOf: () => string | undefined,
): EndpointCandidate[] {
  if (!places.some(({ siblings }) => siblings > 1)) return places;
  const holder = holderOf();
  const provider = places.find(({ id }) => id === holder)?.provider;
  if (provider === undefined || !hasAccountState(call)) return places;
  const account = holder?.split('#').at(-1) ?? '';
  return places.map((place) =>
    place.unusable === undefined && place.provider === provider && !place.id.endsWith(`#${account}`)
      ? { ...place, unusable: 'what the conversation refers to is kept by another account of this provider' }
      : place,
  );
}

/** An explicit order of providers wants no other. */
function withDefaults(policy: RoutingPolicy, { routes }: ModelDirectory): RoutingPolicy {
  const sort = policy.sort ?? (policy.order.length > 0 ? undefined : routes.sort);
  return { ...policy, sort, fallbackModels: policy.fallbackModels ?? [...routes.fallbackModels] };
}

/** A model that the request names must exist; one of the configuration may be missing for a while. */
async function fallbackCandidates(
  named: string[] | undefined,
  { fallbackModels = [], allowFallbacks }: RoutingPolicy,
  { models, allows, protocol }: DecisionOptions & { protocol: string },
): Promise<EndpointCandidate[]> {
  if (!allowFallbacks) return [];
  const places: EndpointCandidate[] = [];
  for (const [index, name] of fallbackModels.entries()) {
    try {
      const found = await candidatesFor(models, name, { rank: index + 1, protocol });
      if (places.some((place) => place.model === found[0]?.model)) continue;
      const unusable = 'this key may not use the model';
      places.push(...found.map((place) => (allows(place.model) ? place : { ...place, unusable })));
    } catch (error) {
      if (named && error instanceof GatewayError)
        throw new GatewayError(error.code, error.message, { param: 'models' });
      if (!named && error instanceof GatewayError) continue;
      throw error;
    }
  }
  return places;
}

function checkPin({ pin }: RoutingPolicy, candidates: readonly EndpointCandidate[], model: string): void {
  if (!pin || selected(pin, candidates).length > 0) return;
  const serving = [...new Set(candidates.map(({ provider }) => provider))].join(', ');
  throw new GatewayError(
    'invalid_request',
    `provider.type: "${pin.text}" does not serve the model "${model}"; it is served by: ${serving}.`,
    { param: 'provider.type' },
  );
}

interface Known {
  state: DecisionOptions['state'];
  conversation: string;
  key: string;
}

function situationOf(
  call: InferenceCall,
  candidates: readonly EndpointCandidate[],
  { state, conversation, key }: Known,
): RankingContext {
  const credentials = new Map(candidates.map(({ id, endpoint }) => [id, endpoint?.credential]));
  const { breaker, statistics, bindings } = state;
  return {
    breaker: {
      cooldown(id) {
        const milliseconds = credentials.get(id)?.cooldown() ?? 0;
        return milliseconds > 0 ? { cause: 'its account was refused', milliseconds } : breaker.cooldown(id);
      },
      failedLately: breaker.failedLately,
    },
    statistics: {
      latency: (id, percentile) => statistics.latency(measuredAs(id, call.stream), percentile),
      throughput: (id, percentile) => statistics.throughput(measuredAs(id, call.stream), percentile),
    },
    conversation,
    get holder() {
      return bindings.endpointOf(key);
    },
  };
}

function withOptions(
  endpoint: Endpoint,
  { provider, type }: Pick<EndpointCandidate, 'provider' | 'type'>,
  policy: RoutingPolicy,
): Endpoint {
  const options = policy.options[provider] ?? policy.options[type];
  return options ? { ...endpoint, options } : endpoint;
}

/** Why no place is left; only for a route without places. */
export function refusalOf({ model, excluded }: RoutingDecision): GatewayError {
  const reasons = [...new Set(excluded.map(({ candidate, reason }) => `${endpointName(candidate)}: ${reason}`))].join(
    '; ',
  );
  const isReady = excluded.some(({ candidate }) => candidate.unusable === undefined);
  const message = `No endpoint of the model "${model}" can serve the request (${reasons || 'it has none'}).`;
  return isReady
    ? new GatewayError('invalid_request', message, { param: 'provider' })
    : new GatewayError('unavailable', message);
}
