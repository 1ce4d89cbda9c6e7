/**
 * S3 requests: requests and presigned URLs for one bucket, with AWS Signature Version 4. Signing is synchronous, so that
 * tasks can be encoded synchronously. The tests verify signatures with an independent implementation.
 */

import {
  ALGORITHM,
  authorizationOf,
  encodeAll,
  type SigningScope,
  scopeText,
  sha256Of,
  signatureOf,
  stampOf,
} from '../core/aws-signature.ts';
import { type Clock, systemClock } from '../core/clock.ts';
import type { Secret } from '../security/secret.ts';
import type { TrustedResponse } from './trusted-client.ts';

export interface S3Options {
  /** E.g. `https://s3.eu-central-1.amazonaws.com`, without a path. */
  endpoint: string;
  region: string;
  bucket: string;
  /** Prefix of all object names; empty by default. */
  prefix?: string;
  accessKeyId: string;
  secretAccessKey: Secret;
  /** Whether the bucket is part of the path instead of the host name. */
  pathStyle: boolean;
}

export interface S3Call {
  method: 'GET' | 'HEAD' | 'PUT' | 'DELETE';
  /** Object name without the prefix; absent for the bucket itself. */
  name?: string;
  query?: Record<string, string>;
  /** Hex SHA-256 of the body, if any. */
  sha256?: string;
}

export interface S3Requests {
  /** URL and headers of a signed request; other headers can be added. */
  sign(call: S3Call): { url: string; headers: Record<string, string> };
  /** Presigned GET URL, valid for `lifetimeMs`, 7 days at most. The same URL for an hour. */
  presign(name: string, lifetimeMs: number): string;
}

const HOUR_MS = 3_600_000;
/** Maximum lifetime of a signed URL. */
const MAX_LIFETIME_MS = 7 * 24 * HOUR_MS;
/** Bytes of an error that are looked at. */
const MAX_ERROR_BYTES = 4096;
/** Time for which they are waited for. */
const ERROR_TIMEOUT_MS = 2000;
const UNSIGNED_PAYLOAD = 'UNSIGNED-PAYLOAD';
const EMPTY_BODY_SHA256 = sha256Of('');

/** Creates signed requests; `now` in Unix milliseconds. */
export function createS3Requests(options: S3Options, now: () => number): S3Requests {
  const { endpoint, region, bucket, prefix = '', accessKeyId, secretAccessKey, pathStyle } = options;
  const { protocol, host: server } = new URL(endpoint);
  const host = pathStyle ? server : `${bucket}.${server}`;

  const pathOf = (name: string | undefined) => {
    const parts = [...(pathStyle ? [bucket] : []), ...(name === undefined ? [] : `${prefix}${name}`.split('/'))];
    return `/${parts.map(encodeAll).join('/')}`;
  };
  const scopeAt = (stamp: string): SigningScope => ({ stamp, region, service: 's3' });

  return {
    sign({ method, name, query = {}, sha256 = EMPTY_BODY_SHA256 }) {
      const stamp = stampOf(now());
      const path = pathOf(name);
      const own = { 'x-amz-content-sha256': sha256, 'x-amz-date': stamp };
      const headers = Object.entries({ host, ...own });
      const request = { method, path, query: encodeQuery(query), headers, sha256 };
      const keys = { id: accessKeyId, secret: secretAccessKey.reveal() };
      const authorization = authorizationOf(request, keys, scopeAt(stamp));
      return { url: addressOf(path, request.query), headers: { ...own, authorization } };
    },
    presign(name, lifetimeMs) {
      const since = Math.floor(now() / HOUR_MS) * HOUR_MS;
      const stamp = stampOf(since);
      const path = pathOf(name);
      const query = encodeQuery({
        'X-Amz-Algorithm': ALGORITHM,
        'X-Amz-Content-Sha256': UNSIGNED_PAYLOAD,
        'X-Amz-Credential': `${accessKeyId}/${scopeText(scopeAt(stamp))}`,
        'X-Amz-Date': stamp,
        'X-Amz-Expires': String(Math.min(expiry(now(), lifetimeMs) - since, MAX_LIFETIME_MS) / 1000),
        'X-Amz-SignedHeaders': 'host',
      });
      const request = { method: 'GET', path, query, headers: [['host', host]] as const, sha256: UNSIGNED_PAYLOAD };
      const signature = signatureOf(request, secretAccessKey.reveal(), scopeAt(stamp));
      return addressOf(path, `${query}&X-Amz-Signature=${signature}`);
    },
  };

  function addressOf(path: string, query: string): string {
    return `${protocol}//${host}${path}${query === '' ? '' : `?${query}`}`;
  }
}

/**
 * Status of a refusal and the store's code, if any, such as `status 403 (RequestTimeTooSkewed)`. Closes the response. Waits
 * shortly for the code: the status says enough.
 */
export async function refusalOf(
  { status, body, close }: TrustedResponse,
  clock: Pick<Clock, 'after'> = systemClock,
): Promise<string> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const cancel = clock.after(ERROR_TIMEOUT_MS, () => resolve(undefined));
  const code = await Promise.race([codeIn(body).catch(() => undefined), late]);
  cancel();
  close();
  return `status ${status}${code ? ` (${code})` : ''}`;
}

async function codeIn(body: AsyncIterable<Buffer>): Promise<string | undefined> {
  let text = '';
  for await (const chunk of body) {
    text += chunk.toString('latin1', 0, MAX_ERROR_BYTES - text.length);
    const code = /<Code>(\w{1,60})<\/Code>/.exec(text)?.[1];
    if (code || text.length >= MAX_ERROR_BYTES) return code;
  }
  return undefined;
}

/** End of a lifetime in Unix milliseconds, rounded up to the hour. */
export function expiry(now: number, lifetime: number): number {
  return Math.ceil((now + Math.min(lifetime, MAX_LIFETIME_MS)) / HOUR_MS) * HOUR_MS;
}

function encodeQuery(query: Record<string, string>): string {
  const pairs = Object.entries(query).sort(([one], [other]) => (one < other ? -1 : 1));
  return pairs.map(([key, value]) => `${encodeAll(key)}=${encodeAll(value)}`).join('&');
}
