/**
 * Guarded HTTP client for URLs from clients and upstreams (SSRF protection): resolves a name once, checks every address,
 * connects only to these, follows no redirects, and enforces a deadline and a size limit.
 */

import { isIP, type LookupFunction, Socket } from 'node:net';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { buildConnector, Client } from 'undici';
import { createByteCollector } from '../core/byte-collector.ts';
import { type Clock, startTimeout, systemClock, type Timeout } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import { type AddressPolicy, canonicalName, PUBLIC_ONLY } from './address-policy.ts';
import { checkUrl, literalAddress } from './check-url.ts';
import { FetchFailure, toFetchFailure } from './fetch-failure.ts';
import { parseAddress, sameAddress } from './public-addresses.ts';
import { createLookup, type Lookup, resolveChecked } from './resolver.ts';

export interface GuardedClientOptions {
  policy?: AddressPolicy;
  /** Resolver for every name; `createLookup(policy)` if absent. */
  lookup?: Lookup;
  /** PEM of an additional certificate authority. */
  extraCa?: string;
  clock?: Clock;
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
}

export interface GuardedResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** IP address of the connection; for logs of the operator, never for the caller. */
  address: string;
  /** Raw body, never decompressed. Reading it to the end, or leaving the loop, closes the connection. */
  body: AsyncIterable<Buffer>;
  /** Closes the connection, whether or not the body was read. */
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

/** Both methods throw `invalid_request` for faults of the address (a `FetchFailure` after the first lookup), and `client_closed` on abort. */
export interface GuardedClient {
  request(url: string, request: GuardedRequest): Promise<GuardedResponse>;
  /** Body of a response with status 200. */
  fetchBytes: FetchBytes;
}

const CONNECT_TIMEOUT_MS = 5_000;
const FETCH_TIMEOUT_MS = 30_000;
const MAX_HEADER_BYTES = 16 * 1024;

export function createGuardedClient(options: GuardedClientOptions = {}): GuardedClient {
  const { policy = PUBLIC_ONLY, extraCa, clock = systemClock } = options;
  const lookup = options.lookup ?? createLookup(policy);
  // Loading all authorities takes longer than a handshake, so it is done once.
  const secureContext = createSecureContext({
    ...(extraCa !== undefined && { ca: [...getCACertificates('default'), extraCa] }),
  });

  async function request(text: string, request: GuardedRequest): Promise<GuardedResponse> {
    const url = checkUrl(text, policy);
    const timeout = startTimeout(clock, request.deadline, request.signal);
    const { signal } = timeout;
    const explain = (thrown: unknown) => (signal.aborted ? abortedError(request.signal) : toFetchFailure(thrown));
    try {
      const addresses = await resolveChecked(url, policy, lookup, signal);
      const { connectDeadline = CONNECT_TIMEOUT_MS } = request;
      return await send(url, request, { addresses, secureContext, connectDeadline, timeout, clock, explain });
    } catch (thrown) {
      timeout.cancel();
      throw explain(thrown);
    }
  }

  return { request, fetchBytes: (url, fetchOptions) => fetchBytes(request, url, fetchOptions) };
}

function abortedError(signal: AbortSignal | undefined): GatewayError {
  if (signal?.aborted) return new GatewayError('client_closed', 'The request was cancelled.', { cause: signal.reason });
  return new FetchFailure('timeout');
}

interface ConnectionOptions {
  addresses: string[];
  secureContext: SecureContext;
  connectDeadline: number;
  timeout: Timeout;
  clock: Clock;
  explain(thrown: unknown): GatewayError;
}

/** One connection per request, never reused. Undici's own timeouts restart with every byte, so only the signal bounds the time. */
async function send(url: URL, request: GuardedRequest, connection: ConnectionOptions): Promise<GuardedResponse> {
  const { timeout, explain } = connection;
  const { signal } = timeout;
  let address = '';
  const connect = pinnedConnector(url, connection, (peer) => {
    address = peer;
  });
  const { maxHeaderBytes = MAX_HEADER_BYTES } = request;
  const limits = { headersTimeout: 0, bodyTimeout: 0, maxHeaderSize: maxHeaderBytes, allowH2: false };
  const client = new Client(url.origin, { connect, pipelining: 1, ...limits });
  const close = () => {
    timeout.cancel();
    signal.removeEventListener('abort', close);
    // After closing, errors of the connection are irrelevant.
    client.destroy().catch(() => {});
  };
  signal.addEventListener('abort', close);
  try {
    const { method, body } = request;
    const headers = { 'user-agent': 'polygate', ...request.headers };
    const answer = await client.request({ path: url.pathname + url.search, method, headers, body, signal });
    answer.body.on('error', () => {});
    const bytes = limitBody(answer.body, { maxBytes: request.maxBytes, explain, close });
    return { status: answer.statusCode, headers: answer.headers, address, body: bytes, close };
  } catch (thrown) {
    close();
    throw thrown;
  }
}

/** Connects only to the checked addresses; TLS still verifies the certificate against the name. */
function pinnedConnector(
  url: URL,
  connection: ConnectionOptions,
  onPeer: (address: string) => void,
): buildConnector.connector {
  const list = connection.addresses.map((address) => ({ address, family: isIP(address) }));
  const allowed = connection.addresses.map(parseAddress);
  const lookup: LookupFunction = (_name, options, callback) => {
    const [first = { address: '', family: 0 }] = list;
    if (options.all) callback(null, list);
    else callback(null, first.address, first.family);
  };
  const connect = buildConnector({
    ...(!literalAddress(url) && { servername: canonicalName(url.hostname) }),
    secureContext: connection.secureContext,
    lookup,
    timeout: 0,
    // Overrides NODE_TLS_REJECT_UNAUTHORIZED.
    rejectUnauthorized: true,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 250,
    maxCachedSessions: 0,
    allowH2: false,
    keepAlive: false,
  });
  return (options, callback) => {
    let stage: 'connect' | 'tls' = 'connect';
    let cancelTimer: (() => void) | undefined;
    const connecting: unknown = connect(options, (error, socket) => {
      cancelTimer?.();
      if (error) return callback(stage === 'tls' ? handshakeFailure(error) : error, null);
      const peer = parseAddress(socket.remoteAddress ?? '');
      if (!peer || !allowed.some((address) => address && sameAddress(address, peer))) {
        socket.destroy();
        return callback(new FetchFailure('blocked'), null);
      }
      onPeer(socket.remoteAddress ?? '');
      callback(null, socket);
    });
    // Undici gives the socket back, which its types don't say, and its own timer is off by up to a second.
    if (!(connecting instanceof Socket)) return;
    connecting.once('connect', () => {
      stage = 'tls';
    });
    cancelTimer = connection.clock.after(connection.connectDeadline, () => connecting.destroy(new FetchFailure(stage)));
  };
}

/** A connection closed during the handshake is a TLS failure. */
function handshakeFailure(error: Error): Error {
  const failure = toFetchFailure(error);
  const isCut = failure instanceof FetchFailure && failure.outcome === 'connect';
  return isCut ? new FetchFailure('tls', undefined, error) : error;
}

interface BodyLimits {
  maxBytes: number;
  explain(thrown: unknown): GatewayError;
  close(): void;
}

async function* limitBody(
  body: AsyncIterable<Buffer>,
  { maxBytes, explain, close }: BodyLimits,
): AsyncGenerator<Buffer> {
  let size = 0;
  try {
    for await (const chunk of body) {
      size += chunk.length;
      if (size > maxBytes) throw tooLargeError(maxBytes);
      yield chunk;
    }
  } catch (thrown) {
    throw explain(thrown);
  } finally {
    close();
  }
}

async function fetchBytes(request: GuardedClient['request'], url: string, options: FetchOptions): Promise<Fetched> {
  const { maxBytes, accept = '*/*', deadline = FETCH_TIMEOUT_MS, signal } = options;
  const answer = await request(url, { method: 'GET', headers: { accept }, deadline, maxBytes, signal });
  try {
    checkResponse(answer, maxBytes);
    const collector = createByteCollector();
    for await (const chunk of answer.body) collector.add(chunk);
    const type = String(answer.headers['content-type'] ?? '')
      .replace(/;.*$/s, '')
      .trim()
      .toLowerCase();
    return { bytes: collector.take(), ...(type !== '' && { type }) };
  } finally {
    answer.close();
  }
}

function checkResponse({ status, headers }: GuardedResponse, maxBytes: number): void {
  if (status >= 300 && status < 400) {
    throw new FetchFailure(
      'status',
      'The address answered with a redirect, which is not followed; use the final address.',
    );
  }
  if (status !== 200) throw new FetchFailure('status', `The address answered with status ${status} instead of 200.`);
  if (Number(headers['content-length']) > maxBytes) throw tooLargeError(maxBytes);
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity')
    throw new FetchFailure('protocol', 'The address sent a compressed body, which was not asked for.');
}

function tooLargeError(maxBytes: number): FetchFailure {
  return new FetchFailure('too-large', `The content is larger than ${maxBytes} bytes.`);
}
