/** Deployments of a LiteLLM proxy (`model_list`) as providers, and as endpoints of models. */

import { isObject, type Json } from '../../core/json/json.ts';
import { lookUp } from '../../core/plain-objects.ts';
import { type DeploymentPlatform, PLATFORMS } from './litellm-platforms.ts';
import { type Deployment, referenceOf, secretReference } from './litellm-references.ts';
import {
  addProvider,
  adviceOf,
  credentialVariable,
  type ImportedEndpoint,
  NO_REQUESTS,
  type Note,
  plainDecimal,
  readAddress,
  type SecretVariable,
  weightOf,
} from './settings.ts';

/** Provider types by the first part of LiteLLM's model names. */
const TYPES: Record<string, string> = {
  openai: 'openai',
  'text-completion-openai': 'openai',
  anthropic: 'anthropic',
  gemini: 'google',
  groq: 'groq',
  mistral: 'mistral',
  deepseek: 'deepseek',
  xai: 'xai',
  together_ai: 'together',
  baseten: 'baseten',
  cerebras: 'cerebras',
  deepinfra: 'deepinfra',
  huggingface: 'huggingface',
  hyperbolic: 'hyperbolic',
  nebius: 'nebius',
  novita: 'novita',
  nscale: 'nscale',
  nvidia_nim: 'nvidia',
  ovhcloud: 'ovhcloud',
  sambanova: 'sambanova',
  vercel_ai_gateway: 'vercel',
  zai: 'zai',
  fireworks_ai: 'fireworks',
  openrouter: 'openrouter',
  perplexity: 'perplexity',
  cohere: 'cohere',
  cohere_chat: 'cohere',
  moonshot: 'moonshot',
  dashscope: 'dashscope',
  minimax: 'minimax',
  volcengine: 'volcengine',
  ollama: 'ollama',
  ollama_chat: 'ollama',
  hosted_vllm: 'vllm',
  vllm: 'vllm',
  lm_studio: 'lm-studio',
  custom_openai: 'openai-compatible',
};
/** Vendors of names without a first part. */
const BARE_TYPES: readonly (readonly [RegExp, string])[] = [
  [/^(gpt-|o\d|chatgpt-|text-embedding-)/, 'openai'],
  [/^claude-/, 'anthropic'],
  [/^gemini-/, 'gemini'],
];
/** Settings of a deployment that are read. */
const KNOWN_SETTINGS = ['model', 'api_key', 'api_base', 'base_url', 'order', 'weight'];
/** USD per token. */
const MAX_PRICE = 1000;
const PRICE_DIGITS = 12;
/** Members of `model_info` that are read, or are LiteLLM's own. */
const READ_FACTS = ['base_model', 'id', 'mode', 'db_model', 'input_cost_per_token', 'output_cost_per_token'];
/** Modes of `model_info` whose requests have no path at the gateway. */
const OTHER_MODES = [
  'audio_speech',
  'audio_transcription',
  'batch',
  'image_edit',
  'image_generation',
  'moderation',
  'ocr',
  'realtime',
  'rerank',
  'search',
  'vector_store',
];
const PRICES: Record<string, string> = { input_cost_per_token: 'prompt', output_cost_per_token: 'completion' };

const UNSUPPORTED = 'is of a provider that is not supported';
const ANY_ADVICE =
  'names no provider: clients name <provider>/<model id>, and models: any of a provider passes on every id';

export interface Deployments {
  /** Entries of the configuration by id. */
  providers: Map<string, Json>;
  /** By LiteLLM's `model_name`. */
  groups: Map<string, ImportedEndpoint[]>;
}

export function readDeployments(list: unknown, variable: SecretVariable, note: Note): Deployments {
  const read: Deployments = { providers: new Map(), groups: new Map() };
  if (list != null && !Array.isArray(list)) note('model_list', 'is no list');
  for (const [index, given] of (Array.isArray(list) ? list : []).entries()) {
    const path = `model_list[${index}]`;
    if (!isNamed(given?.model_name) || !isNamed(given.litellm_params?.model)) {
      note(path, 'has no model_name or no litellm_params.model');
      continue;
    }
    const { model_name: group, litellm_params: params, model_info: info, ...others } = given;
    for (const name of Object.keys(others)) note(`${path}.${name}`, adviceOf(name, ADVICE));
    const ownNote: Note = (name, advice) => note(`${path}.${name}`, advice);
    const secretOf = (setting: string, wanted: string) => {
      const onSecret = (advice: string) => ownNote(`litellm_params.${setting}`, advice);
      return secretReference(params[setting], wanted, { variable, onSecret });
    };
    addDeployment(read, group, { params, info: isObject(info) ? info : {}, note: ownNote, secretOf });
  }
  return read;
}

/** Variables that deployments without a key mean. */
export function usualVariables(list: unknown): string[] {
  return (Array.isArray(list) ? list : []).flatMap((deployment) => {
    const { model, api_key: key } = deployment?.litellm_params ?? {};
    if (key != null || !isNamed(model)) return [];
    const { vendor } = splitName(model);
    if (lookUp(PLATFORMS, vendor)) return [`${vendor.toUpperCase()}_API_KEY`];
    const type = lookUp(TYPES, vendor);
    return type === undefined ? [] : [credentialVariable(type)];
  });
}

function isNamed(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '';
}

function addDeployment({ providers, groups }: Deployments, group: string, deployment: Deployment): void {
  const { params, info, note } = deployment;
  const { vendor, model: name } = splitName(params.model);
  if (name === '') {
    note('litellm_params.model', `"${params.model}" names no model`);
    return;
  }
  if (params.weight === 0) {
    note('litellm_params.weight', NO_REQUESTS);
    return;
  }
  if (OTHER_MODES.includes(info.mode)) note('model_info.mode', `there is no path for "${info.mode}"`);
  const platform = lookUp(PLATFORMS, vendor);
  const account = platform ? platformAccount(platform, name, deployment) : accountOf(vendor, name, deployment);
  if (!account) return;
  const { model } = account;
  const provider = addProvider(providers, account.id, account.settings);
  const known = [...KNOWN_SETTINGS, ...Object.keys(PRICES), ...account.known];
  for (const setting of Object.keys(params))
    if (!known.includes(setting)) note(`litellm_params.${setting}`, adviceOf(setting, ADVICE));
  for (const fact of Object.keys(info))
    if (!READ_FACTS.includes(fact))
      note(`model_info.${fact}`, 'facts of models come from the catalog, or models of a provider');
  if (account.settings.models === 'any') {
    if (group !== `${provider}/*`) note('model_name', `models of "${provider}" are named ${provider}/<model id>`);
    return;
  }
  const pricing = pricingOf({ ...info, ...params }, note);
  if (params.order != null && !isPriority(params.order))
    note('litellm_params.order', 'must be an integer of at least 0');
  const weight = weightOf(params.weight, (advice) => note('litellm_params.weight', advice));
  const endpoint = {
    provider,
    model,
    ...(isPriority(params.order) && { priority: params.order }),
    ...(weight !== undefined && { weight }),
    ...(pricing && { pricing }),
  };
  groups.set(group, [...(groups.get(group) ?? []), endpoint]);
}

/** A provider with its address and credential, and the model that a deployment asks it for. */
interface Account {
  id: string;
  model: string;
  settings: Json;
  /** More settings of the deployment that were read. */
  known: readonly string[];
}

function platformAccount(
  { type, read }: DeploymentPlatform,
  name: string,
  deployment: Deployment,
): Account | undefined {
  const found = read(name, deployment);
  return found && { id: found.type ?? type, ...found };
}

function accountOf(vendor: string, model: string, { params, note, secretOf }: Deployment): Account | undefined {
  const known = lookUp(TYPES, vendor);
  const address = referenceOf(params.api_base || params.base_url);
  if (known === undefined) {
    const problem = model === '*' && vendor === '' ? ANY_ADVICE : UNSUPPORTED;
    note('litellm_params.model', `"${params.model}" ${problem}`);
    return undefined;
  }
  const url = address && readAddress(known, address, (advice) => note('litellm_params.api_base', advice));
  if (address !== undefined && url === undefined) return undefined;
  const isOther = known === 'openai' && address !== undefined;
  const id = isOther ? 'openai-compatible' : known;
  const settings = {
    ...(params.api_key != null && { api_key: secretOf('api_key', credentialVariable(id)) }),
    ...(url !== undefined && { base_url: url }),
    ...(model.includes('*') && { models: 'any' }),
  };
  return { id, model, settings, known: [] };
}

function isPriority(order: unknown): boolean {
  return Number.isSafeInteger(order) && Number(order) >= 0;
}

/** A name without a vendor is that of a well-known one. */
function splitName(name: string): { vendor: string; model: string } {
  const slash = name.indexOf('/');
  if (slash > 0) return { vendor: name.slice(0, slash), model: name.slice(slash + 1) };
  return { vendor: BARE_TYPES.find(([pattern]) => pattern.test(name))?.[1] ?? '', model: name };
}

/** Prices without an exponent, as they are written here; both, or none. */
function pricingOf(settings: Json, note: Note): Record<string, string> | undefined {
  const prices = Object.entries(PRICES).flatMap(([theirs, ours]) => {
    const value = Number(settings[theirs] ?? Number.NaN);
    return value >= 0 && value <= MAX_PRICE ? [[ours, plainDecimal(value, PRICE_DIGITS)]] : [];
  });
  if (prices.length === Object.keys(PRICES).length) return Object.fromEntries(prices);
  const advice = 'pricing needs the price of input and that of output';
  for (const name of Object.keys(PRICES)) if (settings[name] != null) note(`litellm_params.${name}`, advice);
  return undefined;
}

/** Advice by the name of a setting, at any place of the file. */
export const ADVICE: Record<string, string> = {
  rpm: 'limits belong to keys: limits.requests_per_minute',
  tpm: 'limits belong to keys: limits.tokens_per_minute',
  max_parallel_requests: 'limits belong to keys: limits.concurrent_requests',
  timeout: 'timeouts hold for all endpoints: server.deadlines',
  stream_timeout: 'timeouts hold for all endpoints: server.deadlines',
  num_retries: 'failures are retried at the next endpoint; there is no number to set',
  drop_params: 'needs no setting: what a provider does not have is dropped and named in a header',
  modify_params: 'needs no setting',
  set_verbose: 'needs no setting',
  database_url: 'set data to a PostgreSQL database of its own; keys and spend are not taken over',
  callbacks: 'telemetry goes to OpenTelemetry: telemetry.otlp',
  success_callback: 'telemetry goes to OpenTelemetry: telemetry.otlp',
  failure_callback: 'telemetry goes to OpenTelemetry: telemetry.otlp',
  alerting: 'budgets that run out and the like are told to a webhook: notices.webhook',
  max_budget: 'budgets belong to keys and tags: budgets',
  budget_duration: 'budgets belong to keys and tags: budgets',
  max_internal_user_budget: 'budgets belong to keys and tags: budgets',
  cache: 'answers are not cached; caches of providers are used',
  cache_params: 'answers are not cached; caches of providers are used',
  allowed_fails: 'which failures lead to the next endpoint is fixed: docs/reliability.md',
  retry_policy: 'which failures lead to the next endpoint is fixed: docs/reliability.md',
  enable_pre_call_checks: 'needs no setting',
  turn_off_message_logging: 'needs no setting: messages are not logged',
  redact_user_api_key_info: 'needs no setting: keys are not logged',
  redis_host: 'needs no setting: gateways on one PostgreSQL database share limits and budgets',
  redis_port: 'needs no setting: gateways on one PostgreSQL database share limits and budgets',
  redis_password: 'needs no setting: gateways on one PostgreSQL database share limits and budgets',
  environment_variables: 'set these variables in the environment',
  include: 'put the content of these files into the file',
};
