/** Routing decision: the candidates of a call in the order in which they are tried, made before anything is sent. */

import { GatewayError } from '../core/errors.ts';
import type { Json } from '../core/json/json.ts';
import { refuseModelMembers } from '../core/model-members.ts';
import { excludeUnpinned } from './account-pin.ts';
import { hasAccountState } from './account-state.ts';
import { isAuto, readAutoChoice } from './auto.ts';
import { CallRankingContext, type RankingState } from './call-ranking-context.ts';
import { endpointName } from './candidate.ts';
import { candidatesFor, type EndpointCandidate } from './candidates.ts';
import { ConversationKey } from './conversation-key.ts';
import type { Endpoint } from './endpoint.ts';
import { checkPin, pinnedTo } from './exclusion.ts';
import type { InferenceCall } from './inference-call.ts';
import type { ModelDirectory } from './model-directory.ts';
import { isListed, NO_OVERRIDES, readModelName } from './model-names.ts';
import { NO_POLICY, type RoutingPolicy, type Selector } from './policy.ts';
import { checkOptions } from './provider-options.ts';
import { type ExcludedCandidate, rank } from './ranking.ts';
import { nameAtProvider, readPolicy } from './request-policy.ts';
import { createProviderSlugs, type ProviderSlugs } from './slugs.ts';

/** Candidate with a usable endpoint. */
export type RunnableCandidate = EndpointCandidate & { endpoint: Endpoint };

export interface RoutingDecision {
  /** Model as the client named it. */
  requested: string;
  /** The gateway's name of the requested model. */
  model: string;
  policy: RoutingPolicy;
  /** Ordered: the first is tried first. */
  candidates: RunnableCandidate[];
  /** Candidates in cooldown, tried if no other one can serve the request. */
  inCooldown: RunnableCandidate[];
  excluded: ExcludedCandidate<EndpointCandidate>[];
  /** Read only if there is a choice: it takes the beginning of the conversation. */
  conversation: ConversationKey;
}

export interface DecisionOptions {
  models: ModelDirectory;
  state: RankingState;
  /** Whether the API key may use a model. */
  allows(model: string): boolean;
  /** True if the key is restricted to models or has a budget: fields that let an upstream choose a model are refused. */
  isRestricted?: boolean;
  /** True if the key has a budget: models of unknown price are refused. */
  needsPrices?: boolean;
  /** Name of the policy header's value in errors; that of the header by default. */
  policyName?: string;
}

/** Throws and rejects with `model_not_found`, `unavailable`, `permission_denied`, and `invalid_request` for an invalid policy. */
export function decideRouting(
  call: InferenceCall,
  requested: string,
  options: DecisionOptions,
): RoutingDecision | Promise<RoutingDecision> {
  const request = readRequest(call, requested, options);
  const own = candidatesFor(options.models, request.name, { rank: 0, call });
  if (!(own instanceof Promise)) return decideAmong(own, request, options);
  return own.catch((error) => candidatesWithout(error, request)).then((found) => decideAmong(found, request, options));
}

/** A provider that cannot be asked for its models is left out where other models may answer. */
function candidatesWithout(error: unknown, { policy }: RoutingRequest): readonly EndpointCandidate[] {
  if (isUnavailable(error) && policy.allowFallbacks && policy.fallbackModels?.length) return [];
  throw error;
}

function isUnavailable(error: unknown): boolean {
  return error instanceof GatewayError && error.code === 'unavailable';
}

/** The request of a client, as far as routing is concerned. */
interface RoutingRequest {
  call: InferenceCall;
  requested: string;
  /** The model, without a suffix. */
  name: string;
  /** The only provider of this model, by its suffix. */
  pin: Selector | undefined;
  policy: RoutingPolicy;
  /** Fallback models that the request names itself. */
  named: string[] | undefined;
  slugs: ProviderSlugs;
}

function readRequest(call: InferenceCall, requested: string, { models, policyName }: DecisionOptions): RoutingRequest {
  const slugs = createProviderSlugs(models.slugs);
  const body = call.operation.gatewayFields.includes('provider') ? call.body : undefined;
  const asked = readPolicy({ body, headers: call.headers, slugs, policyName });
  const isKnown = (name: string): boolean => isListed(models, name);
  const choice = isAuto(requested) && !isKnown(requested) ? readAutoChoice(body?.model_routing_config) : undefined;
  const [first, ...rest] = choice
    ? [...choice.models, ...(asked.fallbackModels ?? [])]
    : [nameAtProvider(requested, { headers: call.headers, slugs }, isKnown)];
  const { name, overrides } = readModelName(first ?? models.routes.defaultModel ?? requested, models, slugs);
  const { pin, ...sorting } = overrides;
  const named = choice ? rest : asked.fallbackModels;
  const base =
    choice || overrides !== NO_OVERRIDES
      ? { ...asked, ...(pin && { pin: undefined }), fallbackModels: named, ...choice?.overrides, ...sorting }
      : asked;
  return { call, requested, name, pin, policy: withDefaults(base, models), named, slugs };
}

function decideAmong(
  found: readonly EndpointCandidate[],
  request: RoutingRequest,
  options: DecisionOptions,
): RoutingDecision | Promise<RoutingDecision> {
  const { call, name, pin, policy } = request;
  const own = pinnedTo(pin, found, 'model');
  const model = own[0]?.model ?? name;
  if (!options.allows(model)) {
    throw new GatewayError('permission_denied', `This key may not use the model "${model}".`, { param: 'model' });
  }
  if (options.needsPrices && own.some(hasUnknownPrice)) {
    const message = `The price of "${model}" is unknown, because nothing lists it: keys with a budget may not use it.`;
    throw new GatewayError('permission_denied', message, { param: 'model' });
  }
  if (options.isRestricted) refuseModelMembers(withoutMembers(call.body, call.operation.gatewayFields));
  if (!policy.fallbackModels?.length) return decide(own, request, options);
  return fallbackCandidates(request, options).then((others) => decide([...own, ...others], request, options));
}

function decide(
  candidates: readonly EndpointCandidate[],
  { call, requested, name, policy }: RoutingRequest,
  { state, isRestricted = false }: DecisionOptions,
): RoutingDecision {
  const model = candidates[0]?.model ?? name;
  const conversation = new ConversationKey(call, model);
  const distinct = withoutDuplicates(candidates);
  const considered = call.pin
    ? excludeUnpinned(distinct, call.pin)
    : excludeOtherAccounts(distinct, call, () => state.bindings.endpointOf(conversation.key));
  checkPin(policy, considered, model);
  const rankedCall = { stream: call.stream, candidates: considered, conversation };
  const { ranked, inCooldown, excluded } = rank(considered, policy, new CallRankingContext(rankedCall, state));
  const runnable = (some: readonly EndpointCandidate[]): RunnableCandidate[] => {
    const able: RunnableCandidate[] = [];
    for (const candidate of some) if (isRunnable(candidate)) able.push(withOptions(candidate, policy));
    for (const { endpoint } of able) checkOptions(endpoint, isRestricted);
    return able;
  };
  return {
    requested,
    model,
    policy,
    candidates: runnable(ranked),
    inCooldown: runnable(inCooldown),
    excluded,
    conversation,
  };
}

function isRunnable(candidate: EndpointCandidate): candidate is RunnableCandidate {
  return candidate.endpoint !== undefined;
}

function withoutMembers(body: Json, names: readonly string[]): Json {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !names.includes(name)));
}

/** An endpoint shared by several models is tried once. */
function withoutDuplicates(candidates: readonly EndpointCandidate[]): readonly EndpointCandidate[] {
  if (candidates.length < 2) return candidates;
  const first = new Map(candidates.toReversed().map((candidate) => [candidate.id, candidate]));
  return candidates.filter((candidate) => first.get(candidate.id) === candidate);
}

/** Excludes other accounts of a provider that cannot read the account state of the conversation. */
function excludeOtherAccounts(
  candidates: readonly EndpointCandidate[],
  call: InferenceCall,
  holderOf: () => string | undefined,
): readonly EndpointCandidate[] {
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
  if (policy === NO_POLICY && routes.sort === undefined && routes.fallbackModels.length === 0) return policy;
  const sort = policy.sort ?? (policy.order.length > 0 ? undefined : routes.sort);
  return { ...policy, sort, fallbackModels: policy.fallbackModels ?? [...routes.fallbackModels] };
}

/** Throws for an unknown model in the request; skips an unknown one in the configuration, and models of a provider that cannot be asked. */
async function fallbackCandidates(
  { call, named, policy, slugs }: RoutingRequest,
  { models, allows, needsPrices = false }: DecisionOptions,
): Promise<EndpointCandidate[]> {
  const { fallbackModels = [], allowFallbacks } = policy;
  if (call.operation.name === 'embed') {
    if (named?.length) throw incomparable();
    return [];
  }
  if (!allowFallbacks) return [];
  const candidates: EndpointCandidate[] = [];
  const added = new Set<string>();
  for (const [index, text] of fallbackModels.entries()) {
    const { name, overrides } = readModelName(text, models, slugs);
    const { pin, sort } = overrides;
    try {
      const found = pinnedTo(pin, await candidatesFor(models, name, { rank: index + 1, call }), 'models');
      const [first] = found;
      if (!first || added.has(first.model)) continue;
      added.add(first.model);
      const isAllowed = (candidate: EndpointCandidate) =>
        allows(candidate.model) && !(needsPrices && hasUnknownPrice(candidate));
      const unusable = 'this key may not use the model';
      for (const candidate of found)
        candidates.push({ ...candidate, ...(sort && { sort }), ...(!isAllowed(candidate) && { unusable }) });
    } catch (error) {
      if (isUnavailable(error)) continue;
      if (named && error instanceof GatewayError)
        throw new GatewayError(error.code, error.message, { param: 'models' });
      if (!named && error instanceof GatewayError) continue;
      throw error;
    }
  }
  return candidates;
}

function hasUnknownPrice({ endpoint }: EndpointCandidate): boolean {
  return endpoint?.model.unlisted === true;
}

function incomparable(): GatewayError {
  const message = 'models: embeddings have no fallback to another model, because vectors of two models do not compare.';
  return new GatewayError('invalid_request', message, { param: 'models' });
}

function withOptions(candidate: RunnableCandidate, policy: RoutingPolicy): RunnableCandidate {
  const options = policy.options[candidate.provider] ?? policy.options[candidate.type];
  return options ? { ...candidate, endpoint: { ...candidate.endpoint, options } } : candidate;
}

/** Whether there is more than one endpoint for the call. */
export function hasChoice({ candidates, excluded }: RoutingDecision): boolean {
  return candidates.length + excluded.length > 1;
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
