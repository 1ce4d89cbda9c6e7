/** Settings of an OpenRouter account in this gateway's configuration: keys, keys of providers, guardrails and preferences. */

import { momentOf } from '../../core/clock.ts';
import { GatewayError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import { lookUp } from '../../core/plain-objects.ts';
import { MAX_KEY_NAME } from '../../records/tags.ts';
import {
  addProvider,
  adviceOf,
  credentialVariable,
  type ImportedSettings,
  type Note,
  plainDecimal,
  snakeCased,
  unusedName,
} from './settings.ts';

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
/** Types whose provider needs an address of its own, by OpenRouter's names. */
const PLATFORM_TYPES: Record<string, string> = {
  azure: 'azure',
  'google-vertex': 'vertex',
  'amazon-bedrock': 'bedrock',
};
const GUARDRAIL_MEMBERS = ['allowed_models', 'allowed_providers', 'limit_usd'];
const ADVICE: Record<string, string> = {
  allowed_models: 'belongs to keys: polygate keys update --models',
  allowed_providers: 'connect only these providers, or limit the models of keys',
  limit_usd: 'belongs to keys: polygate keys update --budget',
  reset_interval: 'belongs to keys: the period of polygate keys update --budget',
};
/** Members of OpenRouter's objects that are no settings. */
const FACTS = ['id', 'slug', 'name', 'label', 'description', 'created_at', 'updated_at', 'workspace_id', 'sort_order'];
const PROVIDER_KEY_MEMBERS = [...FACTS, 'provider', 'disabled', 'is_fallback', 'is_byok'];
const PARAMETER_ADVICE = 'clients send their parameters themselves';
const PREFERENCES = ['provider', 'models', 'model'];
const MAX_BUDGET = 999_999;
const BUDGET_DIGITS = 12;
/** A date or time as a configuration has it. */
const EXPIRY = /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/;
/** Letters of the name of a key in the name of its variable. */
const MAX_WORD_CHARACTERS = 60;
/** Leaves room for a number. */
const MAX_NAME_START = MAX_KEY_NAME - 8;

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
  for (const file of files.map(snakeCased)) {
    const list = listOf(file);
    if (Number(file?.total_count) > list.length)
      note(
        'total_count',
        `is ${file.total_count}, and the file has ${list.length}: save and name the other pages, too`,
      );
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

function listOf(file: Json): Json[] {
  if (Array.isArray(file) && file.length > 0) return file;
  if (Array.isArray(file?.data)) return file.data;
  return [isObject(file?.data) ? file.data : file];
}

function readItem(item: Json, path: string, imported: Imported, note: Note): void {
  if (!isObject(item)) throw unknown();
  const preset = item.designated_version?.config;
  const preferences = isObject(preset) ? preset : item;
  if (typeof item.hash === 'string') readKey(item, path, imported.keys, note);
  else if (typeof item.is_fallback === 'boolean') readProviderKey(item, path, imported.providers, note);
  else if (GUARDRAIL_MEMBERS.some((name) => name in item)) noteGuardrail(item, path, note);
  else if (PREFERENCES.some((name) => Object.hasOwn(preferences, name))) {
    if (isObject(preset)) notePreset(item, path, note);
    readPreferences(preferences, isObject(preset) ? `${path}.designated_version.config` : '', imported, note);
  } else throw unknown();
}

function unknown(): GatewayError {
  return new GatewayError(
    'invalid_request',
    'The file is none of: the response of /keys, /byok, /guardrails or /presets/{slug}, a request with provider, model or models.',
  );
}

/** OpenRouter shows no secrets: a variable has the text of the key, and clients may go on with their old one. */
function readKey(key: Json, path: string, keys: Json[], note: Note): void {
  const given = [key.name, key.label, key.hash].find((text) => typeof text === 'string' && text.trim() !== '');
  const called = `${path} ("${given}")`;
  if (key.disabled) {
    note(called, 'is disabled');
    return;
  }
  const name = unusedName(String(given).slice(0, MAX_NAME_START), ' ', (one) =>
    keys.some((other) => other.name === one),
  );
  if (name !== given) note(`${path}.name`, `is "${name}" here`);
  const word = String(given)
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, '_')
    .slice(0, MAX_WORD_CHARACTERS);
  const isUsed = (one: string) => keys.some((other) => other.key === `\${${one}}`);
  const isWord = word !== '' && word !== '_' && !isUsed(`CLIENT_KEY_${word}`);
  const variable = unusedName(`CLIENT_KEY_${isWord ? word : keys.length + 1}`, '_', isUsed);
  const budgets = budgetsOf(key, path, note);
  const expires = expiryOf(key.expires_at, (advice) => note(`${path}.expires_at`, advice));
  keys.push({
    name,
    key: `\${${variable}}`,
    ...(expires !== undefined && { expires }),
    ...(budgets !== undefined && { budgets }),
  });
  note(called, `its secret is not in the file: put it, or a new one, into the variable ${variable}`);
  if (Number(key.usage) > 0 && budgets !== undefined)
    note(`${path}.usage`, 'the use so far is not taken over: the budget begins at zero');
}

/** The limit of a key as a budget. */
function budgetsOf({ limit, limit_reset: reset }: Json, path: string, note: Note): Record<string, string> | undefined {
  if (limit == null) return undefined;
  const isNumber = typeof limit === 'number' || (typeof limit === 'string' && limit.trim() !== '');
  const amount = isNumber ? Number(limit) : Number.NaN;
  if (!(amount >= 0 && amount <= MAX_BUDGET)) {
    note(`${path}.limit`, `is no number from 0 to ${MAX_BUDGET}: the key has no budget`);
    return undefined;
  }
  const period = lookUp(PERIODS, reset);
  if (reset != null && period === undefined)
    note(`${path}.limit_reset`, 'is none of daily, weekly and monthly: the budget is for all time');
  return { [period ?? 'total']: dollars(amount) };
}

/** USD with two decimals, and more where they count. */
function dollars(amount: number): string {
  const rounded = amount.toFixed(2);
  return Number(rounded) === amount ? rounded : plainDecimal(amount, BUDGET_DIGITS);
}

/** The moment in the form of a configuration; one without a zone is in UTC, as all of OpenRouter's are. */
function expiryOf(value: unknown, note: (advice: string) => void): string | undefined {
  if (value == null) return undefined;
  const text = String(value).trim().replace(' ', 'T');
  const moment = momentOf(/T[\d:.]+$/.test(text) ? `${text}Z` : text);
  if (!Number.isNaN(moment)) return EXPIRY.test(text) ? text : new Date(moment).toISOString();
  note('is no date or time: the key does not expire');
  return undefined;
}

function readProviderKey(key: Json, path: string, providers: Map<string, Json>, note: Note): void {
  const slug = String(key.provider);
  const type = lookUp(TYPES, slug) ?? SAME_TYPES.find((each) => each === slug);
  const advice = problemOf(key, type, providers);
  if (type !== undefined && advice === undefined) {
    const variable = credentialVariable(type);
    addProvider(providers, type, { api_key: `\${${variable}}` });
    note(path, `its secret is not in the file: put it into the variable ${variable}`);
    noteOthers(path, key, { known: PROVIDER_KEY_MEMBERS, note });
  } else note(`${path} (${slug})`, advice ?? 'is of a provider that is not supported');
}

function problemOf(key: Json, type: string | undefined, providers: ReadonlyMap<string, Json>): string | undefined {
  if (key.disabled) return 'is disabled';
  const platform = lookUp(PLATFORM_TYPES, key.provider);
  if (platform !== undefined) return `needs an address: write a provider of type ${platform} (docs/providers.md)`;
  if (type === undefined || !providers.has(type)) return undefined;
  return `is one more key: providers.${type}.api_keys has several`;
}

function noteGuardrail(guardrail: Json, path: string, note: Note): void {
  noteOthers(`${path} ("${guardrail.name}")`, guardrail, { known: FACTS, note });
}

/** Notes settings that are not known. */
function noteOthers(path: string, object: Json, { known, note }: { known: readonly string[]; note: Note }): void {
  for (const [name, value] of Object.entries(object)) {
    if (known.includes(name) || value == null || value === false) continue;
    note(`${path}.${name}`, adviceOf(name, ADVICE));
  }
}

/** Parts of a preset beside the settings of requests. */
function notePreset({ designated_version: version }: Json, path: string, note: Note): void {
  const at = `${path}.designated_version`;
  if (version.system_prompt) note(`${at}.system_prompt`, PARAMETER_ADVICE);
  for (const name of Object.keys(version.config))
    if (!PREFERENCES.includes(name) && version.config[name] != null) note(`${at}.config.${name}`, PARAMETER_ADVICE);
}

function readPreferences(preferences: Json, path: string, imported: Imported, note: Note): void {
  const { model, models, provider } = preferences;
  const at = (name: string) => (path === '' ? name : `${path}.${name}`);
  if (isName(model)) {
    const name = `${PROVIDER}/${model}`;
    imported.defaultModel ??= name;
    if (imported.defaultModel !== name)
      note(at('model'), `comes after ${imported.defaultModel}, which is default_model`);
  } else if (model != null) note(at('model'), 'is no name of a model');
  if (Array.isArray(models)) readFallbacks(models, imported.routing, (advice) => note(at('models'), advice));
  else if (models != null) note(at('models'), 'is no list');
  if (!isObject(provider)) return;
  for (const [name, value] of Object.entries(provider)) {
    const sort = isObject(value) ? value.by : value;
    if (name === 'sort' && SORTS.includes(sort))
      readSort(sort, imported.routing, (advice) => note(at('provider.sort'), advice));
    else if (value != null)
      note(at(`provider.${name}`), 'has no default here: the same object in a request means the same');
  }
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

function readFallbacks(models: Json[], routing: Json, note: (advice: string) => void): void {
  const names = models.filter(isName).map((name) => `${PROVIDER}/${name}`);
  if (names.length < models.length) note('has entries that are no names of models');
  if (names.length === 0) return;
  routing.fallback_models ??= names;
  if (String(routing.fallback_models) !== String(names))
    note('come after those of another file, which are fallback_models');
}

function readSort(sort: string, routing: Json, note: (advice: string) => void): void {
  routing.sort ??= sort;
  if (routing.sort !== sort) note(`comes after ${routing.sort} of another file, which is routing.sort`);
}
