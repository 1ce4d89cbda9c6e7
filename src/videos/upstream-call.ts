/** Upstream calls of video adapters, with an outcome that tells whether the request may have arrived. */

import { parseRetryAfter } from '../core/fields.ts';
import type { Json } from '../core/json/json.ts';
import { checkResponseLimits } from '../core/json/response.ts';
import { readInSlices } from '../core/json/slices.ts';
import type { VideoCall, VideoResponse } from '../core/video.ts';
import { collectResponse } from '../transport/collect-response.ts';
import type { UpstreamClient, UpstreamRequest } from '../transport/upstream-client.ts';
import type { VideoContext, VideoTarget } from './context.ts';

/** `not-sent`: the request did not reach the upstream. `no-response`: it may have, but no complete response came. */
export type RawOutcome =
  | { type: 'response'; status: number; headers: Record<string, string | undefined>; body: Buffer | 'too-large' }
  | { type: 'not-sent'; cause: unknown }
  | { type: 'no-response'; cause: unknown };

export type CallOutcome =
  | { type: 'response'; response: VideoResponse; retryAfter?: number }
  | Exclude<RawOutcome, { type: 'response' }>;

/** Default timeout of a call. */
const CALL_TIMEOUT_MS = 60_000;
/** Responses can contain videos as base64. */
const MAX_RESPONSE_BYTES = 200 * 1024 * 1024;
/** Limit for all large responses together. A response that exceeds it is discarded and queried again. */
const MAX_BUFFERED_BYTES = 256 * 1024 * 1024;
const LARGE_RESPONSE_BYTES = 1024 * 1024;

/**
 * Does everything but send the request, so that nothing can fail between marking an attempt as sending and sending it.
 * Rejects with a GatewayError if no credential is available at the moment.
 */
export async function prepareCall(
  context: VideoContext,
  target: VideoTarget,
  call: VideoCall<unknown>,
): Promise<UpstreamRequest> {
  const { body, type } = await encodeBody(call.body);
  const headers = {
    accept: 'application/json',
    'accept-encoding': 'identity',
    'user-agent': context.userAgent,
    ...(type !== undefined && { 'content-type': type }),
    ...target.headers,
    ...call.headers,
  };
  const { platform, local } = target.provider;
  const url = platform.url({ type: 'video', path: call.path });
  const request = { method: call.method, url, headers, body };
  return { ...(await platform.authorize(request, target.credential.value, context.clock.now())), local };
}

async function encodeBody(body: Json | FormData): Promise<{ body?: Buffer; type?: string }> {
  if (body === undefined) return {};
  if (!(body instanceof FormData)) return { body: Buffer.from(JSON.stringify(body)), type: 'application/json' };
  const encoded = new Response(body);
  return { body: Buffer.from(await encoded.arrayBuffer()), type: encoded.headers.get('content-type') ?? undefined };
}

export interface CallLimits {
  signal: AbortSignal;
  /** Time limit of the request and its response; 60 seconds by default. */
  timeoutMs?: number;
}

/** Rejects with the signal's reason on abort. */
export async function sendCall(
  context: VideoContext,
  request: UpstreamRequest,
  bounds: CallLimits,
): Promise<CallOutcome> {
  const outcome = await sendRaw(context.upstream, request, bounds);
  if (outcome.type !== 'response') return outcome;
  const { status, headers, body } = outcome;
  const response = { status, headers, body: body === 'too-large' ? undefined : await parse(body) };
  return { type: 'response', response, retryAfter: parseRetryAfter(headers['retry-after'], context.clock.now()) };
}

/** Rejects with the signal's reason on abort. */
export function sendRaw(
  upstream: Pick<UpstreamClient, 'send'>,
  request: UpstreamRequest,
  { signal, timeoutMs = CALL_TIMEOUT_MS }: CallLimits,
): Promise<RawOutcome> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<RawOutcome>();
  const buffer = reserveBuffer();
  const finish = (outcome: RawOutcome): void => {
    running.abort();
    resolve(outcome);
  };
  const receiver = collectResponse({
    accepts: buffer.tryGrow,
    onResponse: (response) => finish({ type: 'response', ...response }),
    onTooLarge: (head) => finish({ type: 'response', ...head, body: 'too-large' }),
    onFailure: (cause, sent) => finish({ type: sent ? 'no-response' : 'not-sent', cause }),
  });
  const stop = () => {
    running.abort();
    reject(signal.reason);
  };
  const running = upstream.send({ ...request, total: timeoutMs }, receiver);
  signal.addEventListener('abort', stop, { once: true });
  return promise.finally(() => {
    buffer.release();
    signal.removeEventListener('abort', stop);
  });
}

let bufferedBytes = 0;

interface BufferReservation {
  /** Reserves memory for a response of `size` bytes; false if it exceeds a limit. */
  tryGrow(size: number): boolean;
  release(): void;
}

function reserveBuffer(): BufferReservation {
  let reserved = 0;
  return {
    tryGrow(size) {
      if (size <= LARGE_RESPONSE_BYTES) return true;
      if (size > MAX_RESPONSE_BYTES || bufferedBytes + size - reserved > MAX_BUFFERED_BYTES) return false;
      bufferedBytes += size - reserved;
      reserved = size;
      return true;
    },
    release() {
      bufferedBytes -= reserved;
      reserved = 0;
    },
  };
}

/** Undefined for invalid JSON, or JSON beyond the limits of a response. */
async function parse(body: Buffer): Promise<Json> {
  try {
    checkResponseLimits(body);
    return body.length > LARGE_RESPONSE_BYTES ? await readInSlices(body) : JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
