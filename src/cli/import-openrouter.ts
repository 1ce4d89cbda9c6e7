/** Settings of an OpenRouter account in this gateway's configuration: keys, keys of providers, guardrails and preferences. */

import { GatewayError } from '../core/errors.ts';
import { isObject, type Json } from '../core/json/json.ts';
import { addProvider, credentialVariable, type ImportedSettings, type Note } from './imported-settings.ts';

const PROVIDER = 'openrouter';
/** Provider types by OpenRouter's names, where they differ. */
const TYPES: Record<string, string> = {
  'google-ai-studio': 'google',
  'x-ai': 'xai',
  moonshotai: 'moonshot',
  alibaba: 'dashscope',
  'z-ai': 'zai',
};
const SAME_TYPES = [
  'openai',
  'anthropic',
  'groq',
  'mistral',
  'deepseek',
  'xai',
  'together',
  'fireworks',
  'perplexity',
  'cohere',
  'minimax',
  'baseten',
  'cerebras',
  'deepinfra',
  'hyperbolic',
  'nebius',
  'novita',
  'nvidia',
  'sambanova',
  'siliconflow',
  'venice',
];
const PERIODS: Record<string, string> = { daily: 'day', weekly: 'week', monthly: 'month' };
const SORTS = ['price', 'latency', 'throughput'];
const GUARDRAIL_MEMBERS = ['allowed_models', 'allowed_providers', 'limit_usd'];
const PREFERENCES = ['provider', 'models', 'model'];
const MAX_BUDGET = 999_999;

interface Imported {
  providers: Map<string, Json>;
  keys: Json[];
  routing: Json;
  defaultModel?: string;
}

/** Each file is a response of OpenRouter's API, or the body of a request with preferences. None are needed. */
export function importOpenRouter(files: Json[]): ImportedSettings {
  const notes: ImportedSettings['notes'] = [];
  const note: Note = (path, advice) => void notes.push({ path, advice });
  const imported: Imported = { providers: new Map(), keys: [], routing: {} };
  addProvider(imported.providers, PROVIDER, { api_key: `\${${credentialVariable(PROVIDER)}}` });
  for (const file of files) {
    const list = Array.isArray(file?.data) ? file.data : [isObject(file?.data) ? file.data : file];
    for (const [index, item] of list.entries()) readItem(item, `data[${index}]`, imported, note);
  }
  const { providers, keys, routing, defaultModel } = imported;
  const config = {
    ...(keys.length > 0 && { keys }),
    providers: Object.fromEntries(providers),
    ...(defaultModel !== undefined && { default_model: defaultModel }),
    ...(Object.keys(routing).length > 0 && { routing }),
  };
  return { config, notes };
}

function readItem(item: Json, path: string, imported: Imported, note: Note): void {
  if (!isObject(item)) throw unknown();
  const preset = item.designated_version?.config;
  const preferences = isObject(preset) ? preset : item;
  if (typeof item.hash === 'string') readKey(item, path, imported.keys, note);
  else if (typeof item.is_fallback === 'boolean') readProviderKey(item, path, imported.providers, note);
  else if (GUARDRAIL_MEMBERS.some((name) => name in item)) noteGuardrail(item, path, note);
  else if (PREFERENCES.some((name) => Object.hasOwn(preferences, name)))
    readPreferences(preferences, isObject(preset) ? `${path}.designated_version.config` : '', imported, note);
  else throw unknown();
}

function unknown(): GatewayError {
  return new GatewayError(
    'invalid_request',
    'The file is none of: the response of /keys, /byok, /guardrails or /presets/{slug}, a request with provider, model or models.',
  );
}

/** OpenRouter shows no secrets: a variable has the text of the key, and clients may go on with their old one. */
function readKey(key: Json, path: string, keys: Json[], note: Note): void {
  const name = String(key.name || key.label || key.hash);
  if (key.disabled === true) {
    note(`${path} ("${name}")`, 'is disabled');
    return;
  }
  const number = keys.length + 1;
  const word = name.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_');
  const isUsed = keys.some((other) => other.key === `\${CLIENT_KEY_${word}}`);
  const variable = `CLIENT_KEY_${word === '' || isUsed ? number : word}`;
  const limit = Number(key.limit ?? Number.NaN);
  const period = PERIODS[String(key.limit_reset)] ?? 'total';
  const expires = typeof key.expires_at === 'string' ? key.expires_at : undefined;
  keys.push({
    name: keys.some((other) => other.name === name) ? `${name} ${number}` : name,
    key: `\${${variable}}`,
    ...(expires !== undefined && { expires }),
    ...(limit >= 0 && limit <= MAX_BUDGET && { budgets: { [period]: limit.toFixed(2) } }),
  });
  note(`${path} ("${name}")`, `its secret is not in the file: put it, or a new one, into the variable ${variable}`);
  if (Number(key.usage) > 0 && limit >= 0)
    note(`${path}.usage`, 'what was used already is not taken over: the budget begins anew');
}

function readProviderKey(key: Json, path: string, providers: Map<string, Json>, note: Note): void {
  const slug = String(key.provider);
  const type = Object.hasOwn(TYPES, slug) ? TYPES[slug] : SAME_TYPES.find((each) => each === slug);
  const advice = problemOf(key, type, providers);
  if (type !== undefined && advice === undefined) {
    const variable = credentialVariable(type);
    addProvider(providers, type, { api_key: `\${${variable}}` });
    note(path, `its secret is not in the file: put it into the variable ${variable}`);
  } else note(`${path} (${slug})`, advice ?? 'is of a provider that is not supported');
}

function problemOf(key: Json, type: string | undefined, providers: ReadonlyMap<string, Json>): string | undefined {
  if (key.disabled === true) return 'is disabled';
  if (type === undefined || !providers.has(type)) return undefined;
  return `is one more key: providers.${type}.api_keys has several`;
}

function noteGuardrail(guardrail: Json, path: string, note: Note): void {
  const { name } = guardrail;
  if (guardrail.allowed_models)
    note(`${path} ("${name}").allowed_models`, 'belongs to keys: polygate keys update --models');
  if (guardrail.allowed_providers)
    note(`${path} ("${name}").allowed_providers`, 'connect only these providers, or limit the models of keys');
  if (guardrail.limit_usd) note(`${path} ("${name}").limit_usd`, 'belongs to keys: polygate keys update --budget');
}

function readPreferences(preferences: Json, path: string, imported: Imported, note: Note): void {
  const { model, models, provider } = preferences;
  const at = (name: string) => (path === '' ? name : `${path}.${name}`);
  if (typeof model === 'string') imported.defaultModel = `${PROVIDER}/${model}`;
  if (Array.isArray(models)) {
    const names = models.filter((name) => typeof name === 'string').map((name) => `${PROVIDER}/${name}`);
    if (names.length > 0) imported.routing.fallback_models = names;
  }
  if (!isObject(provider)) return;
  for (const [name, value] of Object.entries(provider)) {
    const sort = isObject(value) ? value.by : value;
    if (name === 'sort' && SORTS.includes(sort)) imported.routing.sort = sort;
    else note(at(`provider.${name}`), 'has no default here: the same object in a request means the same');
  }
}
