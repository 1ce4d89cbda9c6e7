/** Origin checks of browsers' requests: own host names only, and changes only from own pages. */

import { GatewayError } from '../../core/errors.ts';
import type { Fields } from '../../core/fields.ts';
import { isLoopback } from '../../core/loopback.ts';
import { JSON_TYPE } from '../openapi/operation.ts';

/** Origin by which a browser reached the gateway. */
export interface Site {
  /** Origin such as `https://gw.example.com`. */
  origin: string;
  /** Over TLS. */
  isSecure: boolean;
}

/** Throws `permission_denied` for any other host than a loopback name and those of the public URLs. */
export type FindSite = (headers: Fields) => Site;

/** Header that pages of other sites cannot send without permission. */
const OWN_HEADER = 'x-polygate-ui';

export function createSiteFinder(publicUrls: readonly (string | undefined)[]): FindSite {
  const own = publicUrls.filter((url) => url !== undefined).map((url) => new URL(url));
  return ({ host = '' }) => {
    for (const url of own) {
      if (hostOf(`${url.protocol}//${host}`) === url.host) return { origin: url.origin, isSecure: isHttps(url) };
    }
    const found = loopbackHost(host);
    if (found !== undefined) return { origin: `http://${found}`, isSecure: false };
    throw new GatewayError(
      'permission_denied',
      'The header host must be a loopback name, or the host of server.public_url or admin.public_url.',
      { param: 'host' },
    );
  };
}

/** Throws `permission_denied` for a request that a page of another origin sent. */
export function checkReader(headers: Fields, { origin }: Site): void {
  const from = headers['sec-fetch-site'];
  if (from !== undefined && from !== 'same-origin' && from !== 'none') throw foreign('sec-fetch-site');
  if (headers.origin !== undefined && headers.origin !== origin) throw foreign('origin');
}

/** Throws `permission_denied`, and `unsupported_media_type` for a body that is not JSON. */
export function checkChange(headers: Fields, { origin }: Site): void {
  const from = headers['sec-fetch-site'];
  if (from !== undefined && from !== 'same-origin') throw foreign('sec-fetch-site');
  if (headers.origin !== origin) throw foreign('origin');
  if (!headers[OWN_HEADER]) throw foreign(OWN_HEADER);
  const [type = ''] = (headers['content-type'] ?? JSON_TYPE).split(';', 1);
  if (type.trim().toLowerCase() === JSON_TYPE) return;
  throw new GatewayError('unsupported_media_type', `The header content-type must be ${JSON_TYPE}.`, {
    param: 'content-type',
  });
}

function foreign(header: string): GatewayError {
  const message = `A session is for the dashboard's own pages: the header ${header} is missing or of another origin.`;
  return new GatewayError('permission_denied', message, { param: header });
}

/** A `Host` that is a loopback name, with its port if it has one; undefined for any other, also of a page that rebinds its name. */
export function loopbackHost(host: string): string | undefined {
  const found = hostOf(`http://${host}`);
  const name = found === undefined ? '' : new URL(`http://${found}`).hostname;
  return isLoopback(name.replace(/^\[(.*)\]$/, '$1')) ? found : undefined;
}

function hostOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).host : undefined;
}

function isHttps(url: URL): boolean {
  return url.protocol === 'https:';
}
