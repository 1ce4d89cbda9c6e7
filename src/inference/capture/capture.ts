/**
 * Capture of one request: the client's request and response, and those of each attempt. Credentials are replaced
 * when the client's response ends; it cannot be read before.
 */

import { secretsOf, textsOfCredential } from '../../core/credential.ts';
import type { OutgoingBody } from '../../core/platform.ts';
import type { Attempt } from '../../routing/attempt.ts';
import type { CallWatcher, WatchedSending } from '../../routing/call-watcher.ts';
import type { Trailers } from '../../transport/transport.ts';
import type { UpstreamReceiver } from '../../transport/upstream-client.ts';
import { type CapturedBody, captureBody } from './captured-body.ts';
import { type ByteAllowance, MAX_BODY_BYTES, RecordedBytes } from './recorded-bytes.ts';
import { hiddenValues, redactHeaders, redactTarget, redactUrl } from './redaction.ts';

/** Most bytes of all bodies. */
export const MAX_CAPTURE_BYTES = 4 * MAX_BODY_BYTES;
/** Most requests to upstreams: attempts, and rounds of one. */
const MAX_SENDINGS = 16;

export interface CapturedRequest {
  method: string;
  /** Null where the reader may not know it. */
  url: string | null;
  headers: Record<string, string>;
  body: CapturedBody;
}

export interface CapturedResponse {
  status: number;
  /** Milliseconds since the beginning of the request, like all times. */
  head_ms: number;
  headers: Record<string, string>;
  /** Null where the reader may not know it. */
  body: CapturedBody | null;
  /** Headers after the body, where there are any. */
  trailers?: Record<string, string>;
}

export interface CapturedSending {
  /** Number of the attempt, from 1. */
  attempt: number;
  endpoint: string;
  protocol: string;
  path: string;
  dropped: string[];
  note: string | null;
  error: string | null;
  sent_ms: number;
  request: CapturedRequest;
  response: CapturedResponse | null;
}

export interface CapturedExchange {
  id: string;
  request_id: string;
  started_at: string;
  total_ms: number;
  protocol: string;
  request: CapturedRequest;
  upstream: CapturedSending[];
  response: CapturedResponse | null;
}

export interface CaptureOptions {
  id: string;
  requestId: string;
  /** Protocol id of the client. */
  protocol: string;
  method: string;
  /** Path and query of the client's request. */
  target: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Addresses of upstreams and their refusals may be known to the reader. */
  isForOperators: boolean;
  clock: { now(): number; monotonic(): number };
}

interface RecordedResponse {
  status: number;
  ms: number;
  headers: Readonly<Record<string, string | undefined>>;
  body: RecordedBytes;
  trailers?: Trailers;
}

/** A sent request, without its body, which the call releases. */
interface RecordedSending extends Pick<WatchedSending, 'attempt' | 'endpoint' | 'protocol' | 'plainHeaders'> {
  request: Pick<WatchedSending['request'], 'method' | 'url' | 'headers'>;
  ms: number;
  body: RecordedBytes;
  response?: RecordedResponse;
}

export class Capture implements CallWatcher {
  readonly id: string;
  readonly #options: CaptureOptions;
  readonly #began: number;
  readonly #startedAt: number;
  /** The client's response has room of its own. */
  readonly #allowance: ByteAllowance = { left: MAX_CAPTURE_BYTES - MAX_BODY_BYTES };
  readonly #asked = new RecordedBytes(this.#allowance);
  readonly #sendings: RecordedSending[] = [];
  #response: RecordedResponse | undefined;
  #onComplete: ((exchange: CapturedExchange | undefined) => void) | undefined;

  /** `onComplete` is called once, with nothing where the capture was given up. */
  constructor(options: CaptureOptions, onComplete: (exchange: CapturedExchange | undefined) => void) {
    this.id = options.id;
    this.#options = options;
    this.#began = options.clock.monotonic();
    this.#startedAt = options.clock.now();
    this.#onComplete = onComplete;
  }

  asked(body: Buffer): void {
    if (this.#onComplete) this.#asked.add(body, 0);
  }

  follow({ request, ...about }: WatchedSending, receiver: UpstreamReceiver): UpstreamReceiver {
    if (!this.#onComplete || this.#sendings.length >= MAX_SENDINGS) return receiver;
    const body = new RecordedBytes(this.#allowance);
    for (const piece of piecesOf(request.body)) body.add(piece, 0);
    const { method, url, headers: sent } = request;
    const sending: RecordedSending = { ...about, request: { method, url, headers: sent }, ms: this.#elapsed(), body };
    this.#sendings.push(sending);
    return {
      sent: (isReused) => receiver.sent?.(isReused),
      unsent: () => receiver.unsent?.(),
      head: (status, headers) => {
        const seen = { ...headers };
        sending.response = { status, ms: this.#elapsed(), headers: seen, body: new RecordedBytes(this.#allowance) };
        receiver.head(status, headers);
      },
      data: (chunk) => {
        if (this.#onComplete) sending.response?.body.add(chunk, this.#elapsed());
        receiver.data(chunk);
      },
      end: (trailers) => {
        noteTrailers(sending.response, trailers);
        receiver.end(trailers);
      },
      fail: (error) => receiver.fail(error),
    };
  }

  responseBegan(status: number, headers: Readonly<Record<string, string>>): void {
    const body = new RecordedBytes({ left: MAX_BODY_BYTES });
    this.#response ??= { status, ms: this.#elapsed(), headers: { ...headers }, body };
  }

  responded(chunk: Buffer | string): void {
    if (this.#onComplete) this.#response?.body.add(chunk, this.#elapsed());
  }

  /** Called before the last bytes go out, so that a client that has them finds the capture. */
  complete(trailers?: Readonly<Record<string, string>>): void {
    const onComplete = this.#onComplete;
    this.#onComplete = undefined;
    noteTrailers(this.#response, trailers);
    if (onComplete) onComplete(this.#encode());
  }

  giveUp(): void {
    const onComplete = this.#onComplete;
    this.#onComplete = undefined;
    onComplete?.(undefined);
  }

  #elapsed(): number {
    return Math.round(this.#options.clock.monotonic() - this.#began);
  }

  #encode(): CapturedExchange {
    const { id, requestId, protocol, method, target, headers } = this.#options;
    const secrets = secretsOf(this.#sendings.flatMap(secretTexts));
    const attempts = [...new Set(this.#sendings.map(({ attempt }) => attempt))];
    return {
      id,
      request_id: requestId,
      started_at: new Date(this.#startedAt).toISOString(),
      total_ms: this.#elapsed(),
      protocol,
      request: {
        method,
        url: redactTarget(target),
        headers: redactHeaders(headers),
        body: captureBody(this.#asked, contentType(headers), secrets),
      },
      upstream: this.#sendings.map((one) => this.#encodeSending(one, secrets, attempts.indexOf(one.attempt))),
      response: this.#response ? encodeResponse(this.#response, secrets) : null,
    };
  }

  #encodeSending(sending: RecordedSending, secrets: Buffer[], index: number): CapturedSending {
    const { attempt, protocol, request, plainHeaders, ms, body, response } = sending;
    const { isForOperators } = this.#options;
    return {
      attempt: index + 1,
      endpoint: attempt.endpoint,
      protocol,
      path: attempt.path,
      dropped: [...attempt.dropped],
      note: attempt.note ?? null,
      error: attempt.error ?? null,
      sent_ms: ms,
      request: {
        method: request.method,
        url: isForOperators ? redactUrl(request.url) : null,
        headers: redactHeaders(request.headers, { plain: plainHeaders }),
        body: captureBody(body, contentType(request.headers), secrets),
      },
      response: response ? encodeResponse(response, secrets, isForOperators || !hasFailed(attempt, response)) : null,
    };
  }
}

function noteTrailers(response: RecordedResponse | undefined, trailers: Trailers): void {
  if (response && trailers && Object.keys(trailers).length > 0) response.trailers = trailers;
}

function encodeResponse(
  { status, ms, headers, body, trailers }: RecordedResponse,
  secrets: readonly Buffer[],
  isShown = true,
): CapturedResponse {
  return {
    status,
    head_ms: ms,
    headers: redactHeaders(headers, { secrets }),
    body: isShown ? captureBody(body, contentType(headers), secrets) : null,
    ...(trailers && { trailers: redactHeaders(trailers, { secrets }) }),
  };
}

/** An upstream can name the account or an address of the operator in its refusal. */
function hasFailed({ error }: Attempt, { status }: RecordedResponse): boolean {
  return error !== undefined || status >= 300;
}

function secretTexts({ request, plainHeaders, endpoint }: RecordedSending): string[] {
  return [...hiddenValues(request.headers, plainHeaders), ...textsOfCredential(endpoint.credential.value)];
}

function contentType(headers: Readonly<Record<string, string | string[] | undefined>>): string | undefined {
  return headers['content-type']?.toString().toLowerCase();
}

function piecesOf(body: OutgoingBody | undefined): readonly Buffer[] {
  if (body === undefined) return [];
  return Buffer.isBuffer(body) ? [body] : body;
}
