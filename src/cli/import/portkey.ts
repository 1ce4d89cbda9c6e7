/** Configs of Portkey in this gateway's configuration, and their settings that have no equal here. */

import { GatewayError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import { lookUp } from '../../core/plain-objects.ts';
import {
  addProvider,
  adviceOf,
  createSecretVariables,
  credentialVariable,
  durationOf,
  type ImportedEndpoint,
  type ImportedSettings,
  modelNames,
  NO_REQUESTS,
  type Note,
  readAddress,
  type SecretVariable,
  snakeCased,
  weightOf,
} from './settings.ts';

/** Provider types by Portkey's names. */
const TYPES: Record<string, string> = {
  openai: 'openai',
  anthropic: 'anthropic',
  google: 'google',
  groq: 'groq',
  'mistral-ai': 'mistral',
  deepseek: 'deepseek',
  'x-ai': 'xai',
  'together-ai': 'together',
  cerebras: 'cerebras',
  deepinfra: 'deepinfra',
  huggingface: 'huggingface',
  hyperbolic: 'hyperbolic',
  nebius: 'nebius',
  'novita-ai': 'novita',
  nscale: 'nscale',
  sambanova: 'sambanova',
  siliconflow: 'siliconflow',
  'fireworks-ai': 'fireworks',
  openrouter: 'openrouter',
  'perplexity-ai': 'perplexity',
  cohere: 'cohere',
  moonshot: 'moonshot',
  dashscope: 'dashscope',
  ollama: 'ollama',
};
/** Sections of docs/providers.md about platforms whose address and identity Portkey does not keep in a config. */
const PLATFORMS: Record<string, string> = {
  'azure-openai': 'azure-openai-and-microsoft-foundry',
  'azure-ai': 'azure-openai-and-microsoft-foundry',
  'vertex-ai': 'google-vertex-ai',
  bedrock: 'amazon-bedrock',
};
const MEMBERS = ['targets', 'strategy', 'provider', 'virtual_key'];
/** Settings of a target that are read. */
const KNOWN_SETTINGS = ['provider', 'virtual_key', 'api_key', 'weight', 'override_params', 'custom_host', 'name'];
const MODES = ['single', 'fallback', 'loadbalance', 'conditional'];
const NO_TARGET = 'is no object';
const ADVICE: Record<string, string> = {
  retry: 'failures are retried at the next endpoint; there is no number to set',
  request_timeout: 'timeouts hold for all endpoints: server.deadlines',
  on_status_codes: 'which failures lead to the next endpoint is fixed: docs/reliability.md',
  cache: 'answers are not cached; caches of providers are used',
  forward_headers: 'headers for an upstream: providers.<id>.headers',
  cb_config: 'a failing endpoint is put into cooldown: routing.cooldown',
};

interface Target {
  path: string;
  settings: Json;
  priority: number;
  weight?: number;
}

/** Each file is one config, as it is sent in `x-portkey-config` or as the API of configs answers. */
export function importPortkey(files: Json[]): ImportedSettings {
  const notes: ImportedSettings['notes'] = [];
  const note: Note = (path, advice) => void notes.push({ path, advice });
  const accounts = { providers: new Map<string, Json>(), variable: createSecretVariables() };
  const groups = new Map<string, Json>();
  const timeouts = [0];
  for (const [index, file] of files.entries()) {
    const { name: given, config } = configOf(file, index);
    const name = groups.has(given) ? `${given}-${index + 1}` : given;
    if (name !== given) note(given, `is the name of an earlier file too: this one is ${name}`);
    timeouts.push(readTimeout(config.request_timeout, (advice) => note(`${name}.request_timeout`, advice)));
    noteOthers(name, config, [...KNOWN_SETTINGS, 'strategy', 'targets', 'request_timeout'], note);
    const endpoints = targetsOf(name, config, note).flatMap((target) => endpointOf(target, accounts, note));
    if (endpoints.length > 0) groups.set(name, { endpoints });
  }
  const total = durationOf(Math.max(...timeouts));
  const names = modelNames(groups.keys());
  const models = Object.fromEntries([...groups].map(([group, model]) => [names.get(group), model]));
  const [first] = Object.keys(models);
  const aliases = Object.keys(models).map((name) => [name.slice(name.indexOf('/') + 1), name]);
  const config = {
    ...(total !== undefined && { server: { deadlines: { total } } }),
    providers: Object.fromEntries(accounts.providers),
    ...(first !== undefined && { models, aliases: Object.fromEntries(aliases), default_model: first }),
  };
  return { config, notes };
}

/** Seconds; 0 without one. */
function readTimeout(milliseconds: unknown, note: (advice: string) => void): number {
  if (milliseconds == null) return 0;
  const seconds = Number(milliseconds) / 1000;
  if (durationOf(seconds) !== undefined) return seconds;
  note('is no number of milliseconds up to 99 hours');
  return 0;
}

function configOf(file: Json, index: number): { name: string; config: Json } {
  const outer = isObject(file?.data) ? file.data : file;
  const inner = typeof outer?.config === 'string' ? parsed(outer.config) : (outer?.config ?? outer);
  const config = snakeCased(inner);
  if (!isObject(config) || !MEMBERS.some((member) => Object.hasOwn(config, member))) {
    throw new GatewayError(
      'invalid_request',
      `A config of Portkey has one of ${MEMBERS.join(', ')}; this file has none.`,
    );
  }
  const given = [outer.slug, outer.name].find((name) => typeof name === 'string' && name !== '');
  const number = index === 0 ? '' : `-${index + 1}`;
  return { name: String(given ?? `portkey${number}`).replaceAll(/[\s/]+/g, '-'), config };
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Targets in their order: those of a fallback by priority, those of a balance by weight, also inside each other. */
function targetsOf(path: string, config: Json, note: Note): Target[] {
  if (!Array.isArray(config.targets)) return [{ path, settings: config, priority: 0 }];
  const mode = config.strategy?.mode ?? 'single';
  if (mode === 'conditional')
    note(`${path}.strategy`, 'conditions have no equal; clients choose by the name of the model');
  if (!MODES.includes(mode))
    note(`${path}.strategy.mode`, `is none of ${MODES.join(', ')}: all targets have one priority`);
  if (config.strategy?.on_status_codes) note(`${path}.strategy.on_status_codes`, ADVICE.on_status_codes ?? '');
  const found: Target[] = [];
  for (const [index, target] of config.targets.entries()) {
    const own = `${path}.targets[${index}]`;
    if (!isObject(target)) {
      note(own, NO_TARGET);
      continue;
    }
    if (mode === 'single' && index > 0) {
      note(own, 'is never asked: the strategy is single, and the first target gets all requests');
      continue;
    }
    if (mode === 'loadbalance' && target.weight === 0) {
      note(`${own}.weight`, NO_REQUESTS);
      continue;
    }
    const parameters = [config, target].map((one) => (isObject(one.override_params) ? one.override_params : {}));
    const inherited = { ...target, override_params: Object.assign({}, ...parameters) };
    const inner = targetsOf(own, inherited, note);
    const last = mode === 'fallback' ? Math.max(-1, ...found.map(({ priority }) => priority)) + 1 : 0;
    const share =
      mode === 'loadbalance' ? (weightOf(target.weight, (advice) => note(`${own}.weight`, advice)) ?? 1) : 1;
    for (const each of inner) {
      const weight = mode === 'loadbalance' ? share * (each.weight ?? 1) : each.weight;
      found.push({ ...each, priority: last + each.priority, ...(weight !== undefined && { weight }) });
    }
  }
  return found;
}

function endpointOf(
  { path, settings, priority, weight }: Target,
  { providers, variable: variableOf }: { providers: Map<string, Json>; variable: SecretVariable },
  note: Note,
) {
  noteOthers(
    path,
    settings,
    [...KNOWN_SETTINGS, ...(path.includes('targets') ? [] : ['strategy', 'request_timeout'])],
    note,
  );
  const named = String(settings.provider ?? settings.virtual_key ?? '').replace(/^@/, '');
  const isVaulted = settings.virtual_key !== undefined || String(settings.provider ?? '').startsWith('@');
  const type = isVaulted ? typeOfSlug(named) : lookUp(TYPES, named);
  if (type === undefined) {
    const section = lookUp(PLATFORMS, named);
    if (section !== undefined) note(path, `write this provider yourself: docs/providers.md#${section}`);
    else note(path, `"${named}" is of a provider that is not supported, or that its name does not tell`);
    return [];
  }
  const host = settings.custom_host ? String(settings.custom_host) : undefined;
  const chosen = host !== undefined && type === 'openai' ? 'openai-compatible' : type;
  const address = host && readAddress(chosen, host, (advice) => note(`${path}.custom_host`, advice));
  if (host !== undefined && address === undefined) return [];
  const wanted = credentialVariable(isVaulted ? named.replaceAll(/[^A-Za-z0-9]+/g, '_') : type);
  const variable = variableOf(isVaulted ? `@${named}` : settings.api_key, wanted);
  if (isVaulted) note(path, `its key is in Portkey's vault: put it into the variable ${variable}`);
  else if (settings.api_key !== undefined)
    note(`${path}.api_key`, `is a secret in the file: put it into the variable ${variable}`);
  const needsKey = isVaulted || settings.api_key !== undefined || type !== 'ollama';
  const id = addProvider(providers, chosen, {
    ...(needsKey && { api_key: `\${${variable}}` }),
    ...(address !== undefined && { base_url: address }),
  });
  const { model, ...others } = isObject(settings.override_params) ? settings.override_params : ({} as Json);
  for (const name of Object.keys(others))
    note(`${path}.override_params.${name}`, 'clients send their parameters themselves');
  if (typeof model !== 'string' || model.trim() === '') {
    note(`${path}.override_params.model`, `is absent: clients name models of it ${id}/<model id>`);
    return [];
  }
  const endpoint: ImportedEndpoint = {
    provider: id,
    model,
    ...(priority > 0 && { priority }),
    ...(weight !== undefined && { weight }),
  };
  return [endpoint];
}

/** The type in the name of a virtual key, such as `openai-virtual-key-1a2b`. */
function typeOfSlug(slug: string): string | undefined {
  const names = Object.keys(TYPES).filter((name) => slug === name || slug.startsWith(`${name}-`));
  const [longest] = names.toSorted((one, other) => other.length - one.length);
  return longest === undefined ? undefined : TYPES[longest];
}

function noteOthers(path: string, settings: Json, known: readonly string[], note: Note): void {
  for (const name of Object.keys(settings)) if (!known.includes(name)) note(`${path}.${name}`, adviceOf(name, ADVICE));
}
