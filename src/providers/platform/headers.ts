/** Header platform: paths below a base URL, and a credential that is sent as a header. The platform of most providers. */

import type { CredentialValue } from '../../core/credential.ts';
import type { Destination, OutgoingRequest, Platform } from '../../core/platform.ts';

export interface HeaderPlatformOptions {
  /** Base URL without a trailing slash. */
  baseUrl: string;
  /** Base URL of the paths of videos; `baseUrl` if absent. */
  videoBaseUrl?: string;
  /** Headers of every request. */
  headers?: Readonly<Record<string, string>>;
  /** The headers that carry a key; a bearer token if absent. `now` in Unix milliseconds. */
  credential?(key: string): Record<string, string>;
  /** The headers that carry a pair of keys; absent where none is understood. */
  keyPair?(pair: Extract<CredentialValue, { type: 'key-pair' }>, now: number): Record<string, string>;
}

export function createHeaderPlatform(options: HeaderPlatformOptions): Platform {
  const { baseUrl, videoBaseUrl = baseUrl, headers, credential = bearer, keyPair } = options;

  /** The latest URL: most requests go to one path, and the same text is looked up faster than one that is put together again. */
  let latest = { path: '', base: baseUrl, url: baseUrl };

  function url({ type, path }: Destination): string {
    const base = type === 'video' ? videoBaseUrl : baseUrl;
    if (latest.path !== path || latest.base !== base) latest = { path, base, url: base + path };
    return latest.url;
  }

  function withHeaders(request: OutgoingRequest, own: Readonly<Record<string, string>>): OutgoingRequest {
    return { ...request, headers: { ...headers, ...own, ...request.headers } };
  }

  return {
    url,
    authorize(request, value, now) {
      switch (value.type) {
        case 'none':
          return withHeaders(request, {});
        case 'key':
          return withHeaders(request, credential(value.key));
        case 'headers':
          return withHeaders(request, value.headers);
        case 'renewed':
          throw new Error('credentials of an identity for a type that takes none');
        case 'key-pair':
          if (!keyPair) throw new Error('a pair of keys for a platform that knows none');
          return withHeaders(request, keyPair(value, now));
        case 'token': {
          const token = value.source.token();
          if (typeof token === 'string') return withHeaders(request, bearer(token));
          return token.then((renewed) => withHeaders(request, bearer(renewed)));
        }
      }
    },
  };
}

export function bearer(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}` };
}
