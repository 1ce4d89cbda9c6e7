/**
 * Guarded HTTP client for URLs from clients and upstreams (SSRF protection): resolves a name once, checks every address,
 * connects only to these, follows no redirects, and enforces a deadline and a size limit.
 */

import { ByteCollector } from '../core/byte-collector.ts';
import { type Clock, startTimeout, systemClock, type Timeout } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import { type AddressPolicy, PUBLIC_ONLY } from './address-policy.ts';
import { checkUrl } from './check-url.ts';
import { type Connection, createConnectionPool, leadsToOneOf } from './connection-pool.ts';
import { FetchFailure, toFetchFailure } from './fetch-failure.ts';
import { createLookup, type Lookup, resolveChecked } from './resolver.ts';
import { createHandshakeSlots } from './semaphore.ts';

export interface GuardedClientOptions {
  policy?: AddressPolicy;
  /** Resolver for every name; `createLookup(policy)` if absent. */
  lookup?: Lookup;
  /** PEM of an additional certificate authority. */
  extraCa?: string;
  clock?: Clock;
  /**
   * Whether connections are kept for further requests to the same receiver. A request on a connection that the receiver
   * closed meanwhile is sent once more, so requests must be idempotent.
   */
  reuseConnections?: boolean;
}

export interface GuardedRequest {
  method: 'GET' | 'HEAD' | 'POST';
  headers?: Record<string, string>;
  body?: Buffer;
  /** Milliseconds in total, from the lookup to the last byte of the body. */
  deadline: number;
  /** Milliseconds until the connection is established; 5 seconds if absent. */
  connectDeadline?: number;
  /** Size limit of the response headers; 16 KiB if absent. */
  maxHeaderBytes?: number;
  /** Size limit of the body; a longer one fails with `too-large` while it is read. */
  maxBytes: number;
  signal?: AbortSignal;
  /** Whether the addresses are checked again although the last check for an open connection is recent. */
  checksAddresses?: boolean;
}

export interface GuardedResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** IP address of the connection; for logs of the operator, never for the caller. */
  address: string;
  /** Raw body, never decompressed. Reading it to the end ends the use of the connection; leaving the loop closes it. */
  body: AsyncIterable<Buffer>;
  /** Closes the connection unless the body was read to its end. */
  close(): void;
}

export interface FetchOptions {
  maxBytes: number;
  /** `Accept` header. */
  accept?: string;
  /** Milliseconds in total; 30 seconds if absent. */
  deadline?: number;
  signal?: AbortSignal;
}

export interface Fetched {
  bytes: Buffer;
  /** Declared media type, in lower case without parameters. */
  type?: string;
}

export type FetchBytes = (url: string, options: FetchOptions) => Promise<Fetched>;

/** Both methods throw `invalid_request` for a bad address (a `FetchFailure` after the first lookup), `client_closed` on abort. */
export interface GuardedClient {
  request(url: string, request: GuardedRequest): Promise<GuardedResponse>;
  /** Body of a response with status 200. */
  fetchBytes: FetchBytes;
  /** Closes idle connections. */
  close(): void;
}

const CONNECT_TIMEOUT_MS = 5_000;
const FETCH_TIMEOUT_MS = 30_000;
const MAX_HEADER_BYTES = 16 * 1024;
/** Handshakes that are computed at once. */
const MAX_HANDSHAKES = 32;
const POOL_LIMITS = { total: 128, perKey: 8 };
/** Age of a checked DNS answer from which a connection is not reused without another check. */
const MAX_CHECK_AGE_MS = 30_000;

const loadPinnedConnections = () => import('./pinned-connection.ts');

export function createGuardedClient(options: GuardedClientOptions = {}): GuardedClient {
  const { policy = PUBLIC_ONLY, extraCa, clock = systemClock } = options;
  const lookup = options.lookup ?? createLookup(policy);
  const handshakes = createHandshakeSlots(MAX_HANDSHAKES, clock);
  const pool = options.reuseConnections ? createConnectionPool(POOL_LIMITS) : undefined;

  async function request(text: string, request: GuardedRequest): Promise<GuardedResponse> {
    const url = checkUrl(text, policy);
    const timeout = startTimeout(clock, request.deadline, request.signal);
    const { signal } = timeout;
    const explain = (thrown: unknown) => (signal.aborted ? abortedError(request.signal) : toFetchFailure(thrown));
    try {
      const call = { request, timeout, explain };
      return (await sendOnIdle(url, call)) ?? (await sendOnNew(url, call));
    } catch (thrown) {
      timeout.cancel();
      throw explain(thrown);
    }
  }

  type Call = Omit<PinnedCall, 'onComplete'>;

  async function sendOnNew(url: URL, call: Call): Promise<GuardedResponse> {
    const { signal } = call.timeout;
    const { connectDeadline = CONNECT_TIMEOUT_MS } = call.request;
    const checkedAt = clock.monotonic();
    const addresses = await resolveChecked(url, policy, lookup, signal);
    const { authoritiesWith, openConnection } = await loadPinnedConnections();
    const connection = openConnection(url, {
      key: keyOf(url, call.request),
      addresses,
      secureContext: authoritiesWith(extraCa),
      connectDeadline,
      signal,
      handshakes,
      maxHeaderBytes: maxHeaderBytesOf(call.request),
      checkedAt,
      clock,
    });
    return send(connection, url, call);
  }

  /** Undefined if there is no idle connection to an address that is still right, or the receiver closed it meanwhile. */
  async function sendOnIdle(url: URL, call: Call): Promise<GuardedResponse | undefined> {
    const connection = pool?.take(keyOf(url, call.request));
    if (!connection) return undefined;
    try {
      if (!(await isStillRight(connection, url, call))) return undefined;
      return await send(connection, url, call);
    } catch (thrown) {
      connection.destroy();
      if (isDisconnection(thrown) && !call.timeout.signal.aborted) return undefined;
      throw thrown;
    }
  }

  /** Checks the addresses of the name again once the last answer is too old. */
  async function isStillRight(connection: Connection, url: URL, { request, timeout }: Call): Promise<boolean> {
    const checkedAt = clock.monotonic();
    const age = checkedAt - connection.checkedAt;
    if (!request.checksAddresses && age < MAX_CHECK_AGE_MS) return true;
    const addresses = await resolveChecked(url, policy, lookup, timeout.signal);
    if (!leadsToOneOf(connection, addresses)) {
      connection.destroy();
      return false;
    }
    connection.checkedAt = checkedAt;
    return true;
  }

  function send(connection: Connection, url: URL, call: Call): Promise<GuardedResponse> {
    const onComplete = () => (pool ? pool.keep(connection) : connection.destroy());
    return exchange(connection, url, { ...call, onComplete });
  }

  return {
    request,
    fetchBytes: (url, fetchOptions) => fetchBytes(request, url, fetchOptions),
    close: () => pool?.close(),
  };
}

const maxHeaderBytesOf = ({ maxHeaderBytes = MAX_HEADER_BYTES }: GuardedRequest) => maxHeaderBytes;

function keyOf(url: URL, request: GuardedRequest): string {
  return `${url.origin} ${maxHeaderBytesOf(request)}`;
}

function abortedError(signal: AbortSignal | undefined): GatewayError {
  if (signal?.aborted) return new GatewayError('client_closed', 'The request was cancelled.', { cause: signal.reason });
  return new FetchFailure('timeout');
}

interface PinnedCall {
  request: GuardedRequest;
  timeout: Timeout;
  explain(thrown: unknown): GatewayError;
  /** Called when the response was read to its end; the connection can serve another request. */
  onComplete(): void;
}

/** One request and its response on a connection. */
async function exchange(connection: Connection, url: URL, options: PinnedCall): Promise<GuardedResponse> {
  const { request, timeout, explain } = options;
  const { signal } = timeout;
  let isOver = false;
  const end = (isComplete: boolean) => {
    if (isOver) return;
    isOver = true;
    signal.removeEventListener('abort', close);
    if (isComplete) options.onComplete();
    // After that, errors of the connection are irrelevant.
    else connection.destroy();
  };
  const finish = (isComplete: boolean) => {
    timeout.cancel();
    end(isComplete);
  };
  const close = () => finish(false);
  signal.addEventListener('abort', close);
  try {
    const { method, body } = request;
    const headers = { 'user-agent': 'polygate', ...request.headers };
    const response = await connection.request({ path: url.pathname + url.search, method, headers, body, signal });
    response.body.on('error', () => {});
    const bytes = limitBody(response.body, { maxBytes: request.maxBytes, explain, end: finish });
    return { status: response.statusCode, headers: response.headers, address: connection.address, body: bytes, close };
  } catch (thrown) {
    // The deadline goes on for another connection.
    end(false);
    throw thrown;
  }
}

const DISCONNECTION_CODES = new Set(['ERR_CONNECTION_GONE', 'UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/** The receiver closed an idle connection, before it could know of the request. */
function isDisconnection(thrown: unknown): boolean {
  return DISCONNECTION_CODES.has(String((thrown as { code?: unknown }).code));
}

interface BodyLimits {
  maxBytes: number;
  explain(thrown: unknown): GatewayError;
  end(isComplete: boolean): void;
}

async function* limitBody(body: AsyncIterable<Buffer>, { maxBytes, explain, end }: BodyLimits): AsyncGenerator<Buffer> {
  let size = 0;
  try {
    for await (const chunk of body) {
      size += chunk.length;
      if (size > maxBytes) throw tooLargeError(maxBytes);
      yield chunk;
    }
    end(true);
  } catch (thrown) {
    throw explain(thrown);
  } finally {
    end(false);
  }
}

async function fetchBytes(request: GuardedClient['request'], url: string, options: FetchOptions): Promise<Fetched> {
  const { maxBytes, accept = '*/*', deadline = FETCH_TIMEOUT_MS, signal } = options;
  const response = await request(url, { method: 'GET', headers: { accept }, deadline, maxBytes, signal });
  try {
    checkResponse(response, maxBytes);
    const collector = new ByteCollector();
    for await (const chunk of response.body) collector.add(chunk);
    const type = String(response.headers['content-type'] ?? '')
      .replace(/;.*$/s, '')
      .trim()
      .toLowerCase();
    return { bytes: collector.take(), ...(type !== '' && { type }) };
  } finally {
    response.close();
  }
}

function checkResponse({ status, headers }: GuardedResponse, maxBytes: number): void {
  if (status >= 300 && status < 400) {
    throw new FetchFailure(
      'status',
      'The address answered with a redirect, which is not followed; use the final address.',
    );
  }
  const isPassing = status === 408 || status === 429 || status >= 500;
  if (status !== 200)
    throw new FetchFailure(isPassing ? 'busy' : 'status', `The address answered with status ${status} instead of 200.`);
  if (Number(headers['content-length']) > maxBytes) throw tooLargeError(maxBytes);
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity')
    throw new FetchFailure('protocol', 'The address sent a compressed body, which was not asked for.');
}

function tooLargeError(maxBytes: number): FetchFailure {
  return new FetchFailure('too-large', `The content is larger than ${maxBytes} bytes.`);
}
