/**
 * S3 requests: requests and presigned URLs for one bucket, with AWS Signature Version 4. Signing is synchronous, so that
 * tasks can be encoded synchronously. The tests verify signatures with an independent implementation.
 */

import { createHash, createHmac } from 'node:crypto';
import type { Secret } from '../security/secret.ts';

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
const ALGORITHM = 'AWS4-HMAC-SHA256';
const UNSIGNED_PAYLOAD = 'UNSIGNED-PAYLOAD';
const EMPTY_BODY_SHA256 = sha256Of('');

/** Creates signed requests; `now` in Unix milliseconds. */
export function createS3Requests(options: S3Options, now: () => number): S3Requests {
  const { endpoint, region, bucket, prefix = '', accessKeyId, secretAccessKey, pathStyle } = options;
  const { protocol, host: server } = new URL(endpoint);
  const host = pathStyle ? server : `${bucket}.${server}`;

  const pathOf = (name: string | undefined) => {
    const parts = [...(pathStyle ? [bucket] : []), ...(name === undefined ? [] : `${prefix}${name}`.split('/'))];
    return `/${parts.map(encode).join('/')}`;
  };
  const scopeOf = (stamp: string) => `${stamp.slice(0, 8)}/${region}/s3/aws4_request`;

  function signatureOf(canonical: string, stamp: string): string {
    const steps = scopeOf(stamp).split('/');
    const key = steps.reduce<string | Buffer>(hmac, `AWS4${secretAccessKey.reveal()}`);
    return hmac(key, [ALGORITHM, stamp, scopeOf(stamp), sha256Of(canonical)].join('\n')).toString('hex');
  }

  return {
    sign({ method, name, query = {}, sha256 = EMPTY_BODY_SHA256 }) {
      const stamp = stampOf(now());
      const path = pathOf(name);
      const headers = { 'x-amz-content-sha256': sha256, 'x-amz-date': stamp };
      const signed = Object.entries({ host, ...headers });
      const names = signed.map(([header]) => header).join(';');
      const lines = signed.map(([header, value]) => `${header}:${value}\n`).join('');
      const signature = signatureOf([method, path, encodeQuery(query), lines, names, sha256].join('\n'), stamp);
      const credential = `Credential=${accessKeyId}/${scopeOf(stamp)}`;
      const authorization = `${ALGORITHM} ${credential}, SignedHeaders=${names}, Signature=${signature}`;
      return { url: addressOf(path, encodeQuery(query)), headers: { ...headers, authorization } };
    },
    presign(name, lifetimeMs) {
      const since = Math.floor(now() / HOUR_MS) * HOUR_MS;
      const stamp = stampOf(since);
      const path = pathOf(name);
      const query = encodeQuery({
        'X-Amz-Algorithm': ALGORITHM,
        'X-Amz-Content-Sha256': UNSIGNED_PAYLOAD,
        'X-Amz-Credential': `${accessKeyId}/${scopeOf(stamp)}`,
        'X-Amz-Date': stamp,
        'X-Amz-Expires': String(Math.min(expiry(now(), lifetimeMs) - since, MAX_LIFETIME_MS) / 1000),
        'X-Amz-SignedHeaders': 'host',
      });
      const signature = signatureOf(['GET', path, query, `host:${host}\n`, 'host', UNSIGNED_PAYLOAD].join('\n'), stamp);
      return addressOf(path, `${query}&X-Amz-Signature=${signature}`);
    },
  };

  function addressOf(path: string, query: string): string {
    return `${protocol}//${host}${path}${query === '' ? '' : `?${query}`}`;
  }
}

/** End of a lifetime in Unix milliseconds, rounded up to the hour. */
export function expiry(now: number, lifetime: number): number {
  return Math.ceil((now + Math.min(lifetime, MAX_LIFETIME_MS)) / HOUR_MS) * HOUR_MS;
}

/** E.g. `20261121T050000Z`. */
function stampOf(moment: number): string {
  return new Date(moment).toISOString().replace(/[:-]|\.\d{3}/g, '');
}

function encodeQuery(query: Record<string, string>): string {
  const pairs = Object.entries(query).sort(([one], [other]) => (one < other ? -1 : 1));
  return pairs.map(([key, value]) => `${encode(key)}=${encode(value)}`).join('&');
}

/** Percent-encodes all but unreserved characters, unlike `encodeURIComponent`. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
