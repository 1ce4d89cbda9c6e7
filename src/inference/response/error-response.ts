/** Error response of an upstream: collected, and converted to the error for the client. */

import { ByteCollector } from '../../core/byte-collector.ts';
import { codeOfUpstreamStatus, GatewayError, redact } from '../../core/errors.ts';
import { retryAfterOf } from '../../core/fields.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import { readAtOnce } from '../../core/json/response.ts';
import type { Platform } from '../../core/platform.ts';
import type { Plan } from '../request/planned-request.ts';
import type { ResponseContext, UpstreamHeaders } from './context.ts';
import type { BodyReader } from './ending.ts';

/** Maximum size of an error response, which can be an HTML page. */
const MAX_ERROR_BYTES = 256 * 1024;

interface ErrorResponseHead {
  status: number;
  headers: UpstreamHeaders;
  onError(error: GatewayError): void;
}

/** Reads an error response. An incomplete one counts as received, and one that is too long is truncated. */
export function readErrorResponse(
  context: ResponseContext,
  { status, headers, onError }: ErrorResponseHead,
): BodyReader {
  const { planned, now } = context;
  const collector = new ByteCollector();
  const relayed = planned.path !== 'translated';
  const { platform } = context.endpoint.provider;
  const end = (): void =>
    onError(errorOf({ status, headers, bytes: collector.take(), relayed, platform, now: now() }, planned));
  return {
    data(chunk) {
      collector.addCopy(chunk);
      if (collector.size <= MAX_ERROR_BYTES) return;
      context.abortUpstream();
      end();
    },
    end,
    fail: end,
  };
}

interface CompleteErrorResponse {
  status: number;
  headers: UpstreamHeaders;
  bytes: Buffer;
  /** Unix milliseconds. */
  now: number;
  /** The upstream speaks the client's protocol, so its error can be passed on unchanged. */
  relayed: boolean;
  platform: Pick<Platform, 'decodeError'>;
}

/** Statuses about the gateway's account at the upstream; their text never reaches a client. */
const ACCOUNT_STATUSES = [401, 402, 403, 407];

/** Error for the client, with the upstream's message without secrets. */
function errorOf(response: CompleteErrorResponse, plan: Plan): GatewayError {
  const { status, headers, bytes, relayed, platform, now } = response;
  const { body, isListed } = readObject(bytes);
  const special = platform.decodeError?.({ status, headers, body, now });
  const decoded = special ?? errorInBody(status, body, plan);
  const own = !special && isObject(body?.error) && isOwn(body, plan);
  const clean = relayed && own && !isListed && !ACCOUNT_STATUSES.includes(status) && isClean(bytes);
  return new GatewayError(decoded.code, redact(decoded.message), {
    param: decoded.param,
    retryAfter: retryAfterOf(headers, now) ?? decoded.retryAfter,
    upstreamStatus: status,
    upstreamCode: decoded.upstreamCode,
    upstreamResponse: clean && decoded.code !== 'upstream_error' ? { status, body: bytes } : undefined,
  });
}

/** Whether an error has the form of the protocol; platforms answer in their own form too. */
function isOwn(body: Json, { upstream }: Plan): boolean {
  return upstream.errorIn(body) !== undefined && upstream.readsError?.(body) !== false;
}

function errorInBody(status: number, body: Json, { upstream }: Plan): GatewayError {
  return body
    ? upstream.decodeError(status, body)
    : new GatewayError(codeOfUpstreamStatus(status), `The upstream answered with status ${status}.`);
}

/** The object of a response, which Google sends in a list of one at some addresses. */
function readObject(bytes: Buffer): { body?: Json; isListed: boolean } {
  try {
    const read = readAtOnce(bytes);
    const isListed = Array.isArray(read) && read.length === 1;
    const body = isListed ? read[0] : read;
    return { body: isObject(body) ? body : undefined, isListed };
  } catch {
    return { isListed: false };
  }
}

function isClean(bytes: Buffer): boolean {
  const text = bytes.toString('utf8');
  return redact(text) === text;
}
