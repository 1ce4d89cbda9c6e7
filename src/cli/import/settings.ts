/** Parts of an imported configuration that the importers share: providers, names, endpoints and notes. */

import { isObject, type Json } from '../../core/json/json.ts';
import { lookUp } from '../../core/plain-objects.ts';
import { withoutEnd } from '../../core/text.ts';
import { providerTypes } from '../../providers/index.ts';

export interface ImportedSettings {
  /** Content of a configuration file. */
  config: Json;
  /** Settings without an equal, by their path, with advice. */
  notes: { path: string; advice: string }[];
}

/** Notes a setting that is not taken over, by its path in the file. */
export type Note = (path: string, advice: string) => void;

export interface ImportedEndpoint {
  provider: string;
  model: string;
  priority?: number;
  weight?: number;
  pricing?: Record<string, string>;
}

/** Deployment of another gateway at a cloud platform. */
export interface PlatformDeployment {
  /** Type of the provider, if not that of the platform. */
  type?: string;
  /** Model id at the platform. */
  model: string;
  /** Address and credential of the provider, and its models. */
  settings: { base_url: string; api_key?: string; api_version?: string; models?: Json };
  /** Settings of the deployment that were read. */
  known: readonly string[];
}

/** First part of the names of imported models that have none. */
const OWN_PREFIX = 'team';

/** Names of models by those of groups, which may have one part. Those of two parts stay as they are. */
export function modelNames(groups: Iterable<string>): Map<string, string> {
  const all = [...groups];
  const names = new Map(all.filter(isModelName).map((group) => [group, group]));
  const taken = new Set(names.values());
  for (const group of all.filter((one) => !isModelName(one))) {
    const wanted = `${OWN_PREFIX}/${group.replaceAll(/\s+/g, '-')}`;
    const name = unusedName(wanted, '-', (one) => taken.has(one));
    taken.add(name);
    names.set(group, name);
  }
  return names;
}

/** The name, or the first of `name 2`, `name 3` and so on that is not in use, with a separator. */
export function unusedName(name: string, separator: string, isUsed: (name: string) => boolean): string {
  let found = name;
  for (let number = 2; isUsed(found); number++) found = `${name}${separator}${number}`;
  return found;
}

function isModelName(group: string): boolean {
  return /^[^/\s]+\/\S+$/.test(group);
}

/** Id of the provider with these settings, which is added if there is none; the second of a type is `openai-2`. */
export function addProvider(providers: Map<string, Json>, type: string, settings: Json): string {
  for (let number = 1; ; number++) {
    const id = number === 1 ? type : `${type}-${number}`;
    // Without a key or an address of its own, only the first of a type has the usual variable without being told.
    const wanted = number === 1 ? settings : { type, ...(needsKey(type, settings) && usualKey(type)), ...settings };
    const known = providers.get(id);
    if (known && account(type, known) !== account(type, wanted)) continue;
    const models = modelsOf(known?.models, wanted.models);
    providers.set(id, { ...known, ...wanted, ...(models !== undefined && { models }) });
    return id;
  }
}

function needsKey(type: string, { api_key: key, base_url: address }: Json): boolean {
  return key === undefined && address === undefined && !providerTypes.get(type)?.keyless;
}

function usualKey(type: string): { api_key: string } {
  return { api_key: `\${${credentialVariable(type)}}` };
}

/** Models of one account that are named one by one, unless any is passed on. */
function modelsOf(known: Json, wanted: Json): Json {
  if (!Array.isArray(known) || !Array.isArray(wanted))
    return [known, wanted].includes('any') ? 'any' : (wanted ?? known);
  return [...known, ...wanted.filter(({ id }) => !known.some((model) => model.id === id))];
}

/** Type, credential and address. One account may be named with models and with any, and without its usual variable. */
function account(type: string, { models: _, ...settings }: Json): string {
  return JSON.stringify({ ...(needsKey(type, settings) && usualKey(type)), ...settings });
}

/** An address as a configuration may have it, or a variable in its place. */
const ADDRESS = /^(https?:\/\/[^/?#@\s]+(\/[^?#\s]*)?|\$\{\w+\}(\/[^?#\s]*)?)$/;
const OLLAMA_PATH = '/v1';

/** Address of a server as its provider type has it, or undefined with a note. Other gateways name Ollama's without the path. */
export function readAddress(type: string, address: string, note: (advice: string) => void): string | undefined {
  if (!ADDRESS.test(address)) {
    note('is no http:// or https:// URL without a query');
    return undefined;
  }
  if (type !== 'ollama' || address.endsWith(OLLAMA_PATH)) return address;
  return `${withoutEnd(address, '/')}${OLLAMA_PATH}`;
}

/** Advice about a setting without an equal, by its name. */
export function adviceOf(name: string, advice: Readonly<Record<string, string>>): string {
  return lookUp(advice, name) ?? 'has no equal';
}

/** Advice about a weight of 0. */
export const NO_REQUESTS = 'is 0, which means no requests: it is left out';

/** Variable for a secret that stands in a file; other secrets of the wanted name get `NAME_2` and so on. */
export type SecretVariable = (secret: unknown, wanted: string) => string;

/** `reserved` are variables that the file itself names. */
export function createSecretVariables(reserved: Iterable<string> = []): SecretVariable {
  const secrets = new Map<string, string | undefined>([...reserved].map((name) => [name, undefined]));
  return (secret, wanted) => {
    const text = JSON.stringify(secret) ?? '';
    for (let number = 1; ; number++) {
      const name = number === 1 ? wanted : `${wanted}_${number}`;
      if (secrets.has(name) && secrets.get(name) !== text) continue;
      secrets.set(name, text);
      return name;
    }
  };
}

const WEIGHT_RULE = 'is no number above 0: the endpoint has the weight of one without';

/** Weight of an endpoint; undefined without one, and with a note for another value than a number above 0. */
export function weightOf(value: unknown, note: (advice: string) => void): number | undefined {
  if (value == null) return undefined;
  const weight = typeof value === 'string' && value.trim() === '' ? Number.NaN : Number(value);
  if (weight > 0 && Number.isFinite(weight)) return weight;
  note(WEIGHT_RULE);
  return undefined;
}

/** Members in snake case, as the APIs of other gateways have them and their SDKs do not; parameters of models stay as they are. */
export function snakeCased(value: Json): Json {
  if (Array.isArray(value)) return value.map(snakeCased);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([name, member]) => {
    const snake = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return [snake, snake === 'override_params' ? member : snakeCased(member)];
  });
  return Object.fromEntries(entries);
}

const MAX_SECONDS = 99 * 3600;

/** Duration as a configuration has it; undefined for anything but a number of seconds up to 99 hours. */
export function durationOf(seconds: unknown): string | undefined {
  const whole = Math.ceil(Number(seconds));
  if (!(whole > 0 && whole <= MAX_SECONDS)) return undefined;
  return whole < 10_000 ? `${whole}s` : `${Math.ceil(whole / 60)}m`;
}

/** A number without an exponent, of so many decimals at most. */
export function plainDecimal(value: number, digits: number): string {
  const text = value.toFixed(digits);
  return text.includes('.') ? withoutEnd(withoutEnd(text, '0'), '.') : text;
}

/** Usual variable of the credential for a provider. */
export function credentialVariable(type: string): string {
  return `${type.toUpperCase().replaceAll('-', '_')}_API_KEY`;
}
