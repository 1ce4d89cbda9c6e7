/** Routing decision: the candidates of a call in the order in which they are tried, made before anything is sent. */

import { GatewayError } from '../core/errors.ts';
import type { Json } from '../core/json/json.ts';
import { refuseModelMembers } from '../core/model-members.ts';
import { hasAccountState } from './account-state.ts';
import { isAuto, readAutoChoice } from './auto.ts';
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
import { createProviderSlugs } from './slugs.ts';
import { type RoutingState, statisticsKey } from './state.ts';

/** Candidate with a usable endpoint. */
export type RunnableCandidate = EndpointCandidate & { endpoint: Endpoint };

export interface RoutingDecision {
  /** As the client named it. */
  requested: string;
  /** The gateway's name of the requested model. */
  model: string;
  policy: RoutingPolicy;
  /** Ordered: the first is tried first. */
  candidates: RunnableCandidate[];
  excluded: ExcludedCandidate<EndpointCandidate>[];
  /** Unique key of the conversation. */
  conversation: string;
}

export interface DecisionOptions {
  models: ModelDirectory;
  state: Pick<RoutingState, 'breaker' | 'statistics' | 'bindings'>;
  /** Whether the API key may use a model. */
  allows(model: string): boolean;
  /** True if the key is restricted to models or has a budget: fields that let an upstream choose a model are refused. */
  isRestricted?: boolean;
}

/** Throws `model_not_found`, `permission_denied`, and `invalid_request` for an invalid policy. */
export async function decideRouting(
  call: InferenceCall,
  requested: string,
  options: DecisionOptions,
): Promise<RoutingDecision> {
  const { models, state, allows, isRestricted = false } = options;
  const slugs = createProviderSlugs(models.slugs);
  const body = call.operation.gatewayFields.includes('provider') ? call.body : undefined;
  const asked = readPolicy({ body, header: call.headers[POLICY_HEADER], slugs });
  const isKnown = (name: string): boolean => models.catalog().find(name) !== undefined;
  const choice = isAuto(requested) && !isKnown(requested) ? readAutoChoice(body?.model_routing_config) : undefined;
  const [first, ...rest] = choice ? [...choice.models, ...(asked.fallbackModels ?? [])] : [requested];
  const { name, overrides } = splitModelName(first ?? models.routes.defaultModel ?? requested, isKnown, slugs);
  const named = choice ? rest : asked.fallbackModels;
  const policy = withDefaults({ ...asked, fallbackModels: named, ...choice?.overrides, ...overrides }, models);

  const own = await candidatesFor(models, name, { rank: 0, call });
  const model = own[0]?.model ?? name;
  if (!allows(model)) {
    throw new GatewayError('permission_denied', `This key may not use the model "${model}".`, { param: 'model' });
  }
  if (isRestricted) refuseModelMembers(withoutMembers(call.body, call.operation.gatewayFields));
  const others = await fallbackCandidates(call, named, { policy, ...options });
  const conversation = call.operation.conversation(call.body, call.headers);
  const key = `${call.owner} ${model} ${conversation}`;
  const considered = excludeOtherAccounts(withoutDuplicates([...own, ...others]), call, () =>
    state.bindings.endpointOf(key),
  );
  checkPin(policy, considered, model);
  const { ranked, excluded } = rank(
    considered,
    policy,
    rankingContextOf(call, considered, { state, conversation, key }),
  );
  const candidates = ranked.flatMap(({ endpoint, ...candidate }) =>
    endpoint ? [{ ...candidate, endpoint: withOptions(endpoint, candidate, policy) }] : [],
  );
  for (const { endpoint } of candidates) checkOptions(endpoint, isRestricted);
  return { requested, model, policy, candidates, excluded, conversation: key };
}

function withoutMembers(body: Json, names: readonly string[]): Json {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !names.includes(name)));
}

/** An endpoint shared by several models is tried once. */
function withoutDuplicates(candidates: readonly EndpointCandidate[]): EndpointCandidate[] {
  const first = new Map(candidates.toReversed().map((candidate) => [candidate.id, candidate]));
  return candidates.filter((candidate) => first.get(candidate.id) === candidate);
}

/** Excludes other accounts of a provider that cannot read the account state of the conversation. */
function excludeOtherAccounts(
  candidates: EndpointCandidate[],
  call: InferenceCall,
  holderOf: () => string | undefined,
): EndpointCandidate[] {
  if (!candidates.some(({ siblings }) => siblings > 1)) return candidates;
  const holder = holderOf();
  const provider = candidates.find(({ id }) => id === holder)?.provider;
  if (provider === undefined || !hasAccountState(call)) return candidates;
  const account = holder?.split('#').at(-1) ?? '';
  return candidates.map((candidate) =>
    candidate.unusable === undefined && candidate.provider === provider && !candidate.id.endsWith(`#${account}`)
      ? { ...candidate, unusable: 'what the conversation refers to is kept by another account of this provider' }
      : candidate,
  );
}

/** An explicit `order` disables the configured sort. */
function withDefaults(policy: RoutingPolicy, { routes }: ModelDirectory): RoutingPolicy {
  const sort = policy.sort ?? (policy.order.length > 0 ? undefined : routes.sort);
  return { ...policy, sort, fallbackModels: policy.fallbackModels ?? [...routes.fallbackModels] };
}

/** Throws for an unknown model in the request; skips an unknown one in the configuration. */
async function fallbackCandidates(
  call: InferenceCall,
  named: string[] | undefined,
  { policy, models, allows }: DecisionOptions & { policy: RoutingPolicy },
): Promise<EndpointCandidate[]> {
  const { fallbackModels = [], allowFallbacks } = policy;
  if (call.operation.name === 'embed') {
    if (named?.length) throw incomparable();
    return [];
  }
  if (!allowFallbacks) return [];
  const candidates: EndpointCandidate[] = [];
  for (const [index, name] of fallbackModels.entries()) {
    try {
      const found = await candidatesFor(models, name, { rank: index + 1, call });
      if (candidates.some((candidate) => candidate.model === found[0]?.model)) continue;
      const unusable = 'this key may not use the model';
      candidates.push(...found.map((candidate) => (allows(candidate.model) ? candidate : { ...candidate, unusable })));
    } catch (error) {
      if (named && error instanceof GatewayError)
        throw new GatewayError(error.code, error.message, { param: 'models' });
      if (!named && error instanceof GatewayError) continue;
      throw error;
    }
  }
  return candidates;
}

function incomparable(): GatewayError {
  const message = 'models: embeddings have no fallback to another model, because vectors of two models do not compare.';
  return new GatewayError('invalid_request', message, { param: 'models' });
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

interface ConversationContext {
  state: DecisionOptions['state'];
  conversation: string;
  key: string;
}

function rankingContextOf(
  call: InferenceCall,
  candidates: readonly EndpointCandidate[],
  { state, conversation, key }: ConversationContext,
): RankingContext {
  const credentials = new Map(candidates.map(({ id, endpoint }) => [id, endpoint?.credential]));
  const { breaker, statistics, bindings } = state;
  return {
    breaker: {
      cooldown(id) {
        const milliseconds = credentials.get(id)?.cooldown() ?? 0;
        return milliseconds > 0 ? { cause: 'its account was refused', milliseconds } : breaker.cooldown(id);
      },
      failedRecently: breaker.failedRecently,
    },
    statistics: {
      latency: (id, percentile) => statistics.latency(statisticsKey(id, call.stream), percentile),
      throughput: (id, percentile) => statistics.throughput(statisticsKey(id, call.stream), percentile),
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

/** The error for a decision without candidates: why each was excluded. */
export function noEndpointError({ model, excluded }: RoutingDecision): GatewayError {
  const reasons = [...new Set(excluded.map(({ candidate, reason }) => `${endpointName(candidate)}: ${reason}`))].join(
    '; ',
  );
  const isReady = excluded.some(({ candidate }) => candidate.unusable === undefined);
  const message = `No endpoint of the model "${model}" can serve the request (${reasons || 'it has none'}).`;
  return isReady
    ? new GatewayError('invalid_request', message, { param: 'provider' })
    : new GatewayError('unavailable', message);
}
