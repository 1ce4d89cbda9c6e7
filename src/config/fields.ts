/** Fields of the configuration: types that several sections share, and advice about common mistakes in their place. */

import type { TString } from 'typebox';
import * as Type from 'typebox';
import { isObject, type Json } from '../core/json/json.ts';
import { nearest } from '../core/nearest.ts';

export function duration(description: string, defaultValue?: string): TString {
  return Type.String({
    description,
    ...(defaultValue !== undefined && { default: defaultValue }),
    pattern: '^([1-9][0-9]{0,6}ms|[1-9][0-9]{0,3}[sm]|[1-9][0-9]?h)$',
    errorMessage: 'must be a duration such as 500ms, 10s, 5m or 1h (at most 99h)',
  });
}

export function pathPrefix(description: string, defaultValue: string): TString {
  return Type.String({
    description,
    default: defaultValue,
    pattern: '^[A-Za-z0-9._~-]+(/[A-Za-z0-9._~-]+)*$',
    errorMessage: 'must be path segments without slashes at the ends, e.g. anthropic',
  });
}

export function httpUrl(description: string): TString {
  return Type.String({
    description,
    pattern: '^https?://[^/?#@\\s]+(/[^?#\\s]*)?$',
    errorMessage: 'must be an http:// or https:// URL without credentials, query or fragment',
  });
}

/** Paths of URLs that are used as they are; those of providers are checked by their types. */
const URL_PATHS = [
  'server.public_url',
  'admin.public_url',
  'telemetry.otlp.endpoint',
  'videos.s3.endpoint',
  'usage.export.s3.endpoint',
];

/** Paths at which a file has a text that has the form of a URL, and is none. */
export function malformedUrls(file: Json): string[] {
  return URL_PATHS.filter((path) => {
    const url = path.split('.').reduce((section, name) => section?.[name], file);
    return typeof url === 'string' && !URL.canParse(url);
  });
}

/** A period in hours or days. */
export function retentionPeriod(description: string, defaultValue: string): TString {
  return Type.String({
    description,
    default: defaultValue,
    pattern: '^[1-9][0-9]{0,3}(h|d)$',
    errorMessage: 'must be hours or days such as 24h or 7d',
  });
}

export function size(description: string, defaultValue: string): TString {
  return Type.String({
    description,
    default: defaultValue,
    pattern: '^[1-9][0-9]{0,6}(KiB|MiB|GiB)$',
    errorMessage: 'must be a size such as 512KiB, 20MiB or 2GiB',
  });
}

/** A CIDR range or a single address. */
export function addressRange(): TString {
  return Type.String({
    pattern: '^([0-9]{1,3}(\\.[0-9]{1,3}){3}|[0-9a-fA-F.]*:[0-9a-fA-F:.]*)(/[0-9]{1,3})?$',
    errorMessage: 'must be an address range such as 10.0.0.0/8 or fd00::/8, or one address',
    description: 'E.g. 10.0.0.0/8, fd00::/8 or one address.',
  });
}

export function secretText(description: string): TString {
  return Type.String({ minLength: 16, writeOnly: true, description });
}

/** References to a variable in the syntax of a shell, LiteLLM, Caddy or a template: `$NAME`, `os.environ/NAME`, `{env.NAME}`, `{{ NAME }}`. */
const FOREIGN_REFERENCE = /^\{{0,2} ?(?:\$|os\.environ\/|env\.)?([A-Z_][A-Z0-9_]*) ?\}{0,2}$/;
const FOREIGN_MARK = /^(?:\$|os\.environ\/|\{)/;

/** Secrets that are written as a reference of another program, which would be sent, or taken from clients, as it stands. */
export function foreignReferences({ keys, admin, providers }: Json): { path: string; message: string }[] {
  const secrets: [path: string, value: Json][] = [['admin.token', admin?.token]];
  if (Array.isArray(keys))
    for (const [index, entry] of keys.entries()) secrets.push([`keys[${index}].key`, entry?.key]);
  for (const [id, entry] of Object.entries(isObject(providers) ? providers : {})) {
    if (entry?.enabled === false) continue;
    secrets.push([`providers.${id}.api_key`, entry?.api_key]);
    const several = Array.isArray(entry?.api_keys) ? entry.api_keys : [];
    for (const [index, key] of several.entries()) secrets.push([`providers.${id}.api_keys[${index}]`, key]);
  }
  return secrets.flatMap(([path, value]) => {
    const text = typeof value === 'string' ? value.trim() : '';
    const [, name] = (FOREIGN_MARK.test(text) && FOREIGN_REFERENCE.exec(text)) || [];
    return name === undefined
      ? []
      : [{ path, message: `"${text}" is no reference to a variable; write "\${${name}}"` }];
  });
}

/** Reason for which a provider's key cannot be sent; without anything of it. Keys in JSON, as of service accounts, are files. */
export function apiKeyProblem(key: string, mayHaveSpaces: boolean): string | undefined {
  if (key.startsWith('{')) return undefined;
  if (/^(["']).*\1$/.test(key))
    return 'has quotes around it, which belong to no key; docker --env-file keeps those of its file';
  const text = mayHaveSpaces ? key.replaceAll(' ', '') : key;
  if (/\s/.test(text)) return 'has a space or the end of a line in it, which no key has';
  return /[^\x21-\x7e]/.test(text) ? 'has a character that no key has' : undefined;
}

/** Advice about a value that is often written in a shorter way; empty for any other. */
export function exampleOf(path: string, message: string): string {
  const [, given] = /^must be an object, not "(.*)"$/.exec(message) ?? [];
  if (/^providers\.[^[]+\.models\[\d+\]$/.test(path) && message.startsWith('must be an object'))
    return '; a model is listed as { id: NAME }';
  if (/^models\.[^[]+\.endpoints\[\d+\]$/.test(path) && given?.includes('/')) {
    const [provider, ...model] = given.split('/');
    return `; write { provider: ${provider}, model: ${model.join('/')} }`;
  }
  if (path.startsWith('providers.') && PROVIDER_FIELDS.has(path.slice('providers.'.length)))
    return '; it is a field of a provider: indent it below the id of one';
  return given !== undefined && /^\w+:[^\s/]/.test(given) ? '; a space is needed after a colon' : '';
}

/** Fields of a provider that are found beside providers where the file is not indented. */
const PROVIDER_FIELDS = new Set(['api_key', 'api_keys', 'base_url', 'type', 'models', 'enabled', 'headers']);

const VIDEO_PRICE_FORMS =
  'per-video, per-video-token and per-video-second, with -1080p or the like after a second, and -audio at the end of both';

/** Sections of a configuration of LiteLLM. */
const LITELLM_SECTIONS = new Set(['model_list', 'litellm_settings', 'router_settings', 'general_settings']);

/** Message about a field that is not `allowed` at a path. */
export function unknownField(path: string, allowed: string[]): string {
  if (LITELLM_SECTIONS.has(path)) return 'is of a configuration of LiteLLM: polygate import litellm FILE takes it over';
  if (/\.service_tiers\./.test(path) && allowed.length === 0)
    return 'is no service tier with prices of its own; the prices of the standard tier are in pricing';
  if (/\.video\.prices\./.test(path) && allowed.length === 0)
    return `is no price of a video; allowed: ${VIDEO_PRICE_FORMS}`;
  if (path.startsWith('providers.') && allowed.length === 0) {
    return /\.headers\./.test(path)
      ? 'is not a valid header name'
      : 'is not a valid provider id; use small letters, digits, ".", "_" and "-", with a letter or digit first';
  }
  if (path.startsWith('models.') && allowed.length === 0) {
    const form = 'is not a valid model name; it has the form <group>/<model>';
    const model = path.slice('models.'.length);
    if (/[/*\s]/.test(model)) return `${form}, and patterns with * belong into aliases`;
    return `${form}, such as team/${model}; with aliases: { ${model}: team/${model} } clients may ask for ${model}`;
  }
  const name = path.slice(path.lastIndexOf('.') + 1);
  const guess = nearest(name, allowed);
  return `unknown field${guess ? `; did you mean ${guess}?` : ''}; allowed: ${allowed.join(', ')}`;
}
