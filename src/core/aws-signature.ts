/** AWS Signature Version 4 of requests and addresses, with its regions. The tests verify signatures with an independent implementation. */

import { createHash, createHmac } from 'node:crypto';

export interface SigningScope {
  /** E.g. `20261121T050000Z`. */
  stamp: string;
  region: string;
  /** E.g. `s3`. */
  service: string;
}

export interface SignedRequest {
  method: string;
  /** As in the canonical form: S3 encodes a path once, other services twice. */
  path: string;
  /** Encoded and sorted; empty if there is none. */
  query: string;
  /** The signed headers by their lower-case names, in alphabetical order. */
  headers: readonly (readonly [name: string, value: string])[];
  /** Hex SHA-256 of the body, or the word for one that is not signed. */
  sha256: string;
}

export const ALGORITHM = 'AWS4-HMAC-SHA256';

/** The time of a signature from Unix milliseconds. */
export function stampOf(moment: number): string {
  return new Date(moment).toISOString().replace(/[:-]|\.\d{3}/g, '');
}

/** The region behind the name of the service, where it may be a new one. */
const REGION_BEHIND_SERVICE = /(?:^|\.)bedrock-runtime(?:-fips)?\.([a-z]{2,4}(?:-[a-z]{1,20}){1,4}-\d{1,2})\./;
/** The name of a region that there is, as a label of a host or some words of one. */
const REGION_IN_LABEL =
  /(?:^|-)((?:(?:us|eu)(?:-gov|-iso[a-z]?)?|eusc-[a-z]{2}|ap|sa|ca|me|af|il|mx|cn)-(?:central|(?:north|south)(?:east|west)?|east|west)-\d{1,2})(?:-|$)/;

/** The region in the host of an address, also in that of a VPC endpoint; undefined if it has none. A whole label is surer than words. */
export function regionIn(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined;
  const { hostname } = new URL(address);
  const behindService = REGION_BEHIND_SERVICE.exec(hostname)?.[1];
  if (behindService !== undefined) return behindService;
  const labels = hostname.split('.').map((label) => ({ label, region: REGION_IN_LABEL.exec(label)?.[1] }));
  const whole = labels.find(({ label, region }) => region === label);
  return (whole ?? labels.find(({ region }) => region !== undefined))?.region;
}

/** Domains of the partitions of AWS by how the names of their regions begin; all others have `amazonaws.com`. */
const DOMAINS: readonly (readonly [begin: string, domain: string])[] = [
  ['cn-', 'amazonaws.com.cn'],
  ['eusc-', 'amazonaws.eu'],
  ['us-iso-', 'c2s.ic.gov'],
  ['us-isob-', 'sc2s.sgov.gov'],
  ['us-isof-', 'csp.hci.ic.gov'],
  ['eu-isoe-', 'cloud.adc-e.uk'],
];

/** Domain of the services in a region. */
export function awsDomainOf(region: string): string {
  return DOMAINS.find(([begin]) => region.startsWith(begin))?.[1] ?? 'amazonaws.com';
}

/** Error response of a service that verifies signatures. */
interface Refusal {
  status: number | undefined;
  /** Name of the error. */
  name: string;
  /** Text of the error, in which a service may repeat words of the request. */
  message: string | undefined;
  /** The header `date`. */
  date: unknown;
}

/** Names of errors of a request whose time is not that of the service. */
const REFUSED_TIME_NAME = /^(?:RequestTimeTooSkewed|RequestExpired|RequestInTheFuture)(?:Exception)?$/;
/** Names of errors of a signature, whose text says whether the time is the reason. */
const REFUSED_SIGNATURE_NAME = /^(?:InvalidSignature|SignatureDoesNotMatch)(?:Exception)?$/;
const REFUSED_TIME_WORDS = /Signature (?:expired|not yet current)/;
/** A date that is further away is not taken for the time of a service. */
const MAX_CLOCK_OFFSET_MS = 7 * 24 * 3_600_000;

/** Milliseconds by which the clock of a service is ahead of this machine's, if it refused the time of a request. `now` in Unix milliseconds. */
export function clockOffsetOf({ status, name, message = '', date }: Refusal, now: number): number | undefined {
  const isSignature = status === 403 && REFUSED_SIGNATURE_NAME.test(name);
  if (!REFUSED_TIME_NAME.test(name) && !(isSignature && REFUSED_TIME_WORDS.test(message))) return undefined;
  const offset = typeof date === 'string' ? Date.parse(date) - now : Number.NaN;
  return Math.abs(offset) <= MAX_CLOCK_OFFSET_MS ? offset : undefined;
}

/** Percent-encodes all but unreserved characters, unlike `encodeURIComponent`. */
export function encodeAll(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

export function sha256Of(bytes: Buffer | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

export function scopeText({ stamp, region, service }: SigningScope): string {
  return `${stamp.slice(0, 8)}/${region}/${service}/aws4_request`;
}

/** Hex signature of a request. */
export function signatureOf(request: SignedRequest, secret: string, scope: SigningScope): string {
  const { method, path, query, headers, sha256 } = request;
  const lines = headers.map(([name, value]) => `${name}:${value.trim()}\n`).join('');
  const canonical = [method, path, query, lines, namesOf(request), sha256].join('\n');
  const text = scopeText(scope);
  const key = text.split('/').reduce<string | Buffer>(hmac, `AWS4${secret}`);
  return hmac(key, [ALGORITHM, scope.stamp, text, sha256Of(canonical)].join('\n')).toString('hex');
}

/** Value of the header `authorization`. */
export function authorizationOf(
  request: SignedRequest,
  { id, secret }: { id: string; secret: string },
  scope: SigningScope,
): string {
  const credential = `Credential=${id}/${scopeText(scope)}`;
  return `${ALGORITHM} ${credential}, SignedHeaders=${namesOf(request)}, Signature=${signatureOf(request, secret, scope)}`;
}

function namesOf({ headers }: SignedRequest): string {
  return headers.map(([name]) => name).join(';');
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
