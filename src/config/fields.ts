/** Field types shared by several sections of the configuration schema. */

import type { TString } from 'typebox';
import * as Type from 'typebox';
import type { Json } from '../core/json/json.ts';

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
