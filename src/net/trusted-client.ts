/**
 * HTTP client for addresses that the operator configured, e.g. an upstream or an object store. They may be private and use
 * http. It follows no redirects.
 */

import type { Readable } from 'node:stream';
import type buildConnector from 'undici/lib/core/connect.js';
import type Agent from 'undici/lib/dispatcher/agent.js';
import { type Clock, startTimeout, systemClock } from '../core/clock.ts';
import type { HttpProxy } from '../core/http-proxy.ts';
import { toFetchFailure } from './fetch-failure.ts';

export interface TrustedRequest {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  headers?: Record<string, string>;
  /** A stream needs a `content-length` header. */
  body?: Buffer | Readable;
  /** Milliseconds in total, to the last byte of the body. Without it only the signal bounds the time. */
  deadline?: number;
  signal?: AbortSignal;
}

export interface TrustedResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** Raw body, never decompressed. */
  body: AsyncIterable<Buffer>;
  /** Discards a body that is not read to its end. */
  close(): void;
}

/** Throws a `FetchFailure` without a response, `signal.reason` on abort. */
export interface TrustedClient {
  request(url: string, request: TrustedRequest): Promise<TrustedResponse>;
  close(): Promise<void>;
}

export interface TrustedClientOptions {
  clock?: Clock;
  proxy?: HttpProxy | undefined;
}

export function createTrustedClient({ clock = systemClock, proxy }: TrustedClientOptions = {}): TrustedClient {
  const agents = new Map<HttpProxy | undefined, Promise<Agent>>();

  function agentFor(url: URL): Promise<Agent> {
    const way = proxy?.serves(hostOf(url), portOf(url)) ? proxy : undefined;
    const agent = agents.get(way) ?? openAgent(way, clock);
    agents.set(way, agent);
    return agent;
  }

  async function request(text: string, { method, headers, body, ...bounds }: TrustedRequest): Promise<TrustedResponse> {
    const url = new URL(text);
    const { signal, cancel } =
      bounds.deadline === undefined
        ? { signal: bounds.signal, cancel() {} }
        : startTimeout(clock, bounds.deadline, bounds.signal);
    try {
      const sent = { 'user-agent': 'polygate', ...headers };
      const path = url.pathname + url.search;
      const { default: requestOf } = await import('undici/lib/api/api-request.js');
      const response = await requestOf.call(await agentFor(url), {
        origin: url.origin,
        path,
        method,
        headers: sent,
        body,
        signal,
      });
      response.body.on('error', () => {});
      response.body.once('close', cancel);
      const close = () => void response.body.destroy();
      return {
        status: response.statusCode,
        headers: response.headers,
        body: mapBodyErrors(response.body, signal),
        close,
      };
    } catch (thrown) {
      cancel();
      throw signal?.aborted ? signal.reason : toFetchFailure(thrown);
    }
  }

  return {
    request,
    async close() {
      for (const agent of agents.values()) await (await agent).destroy();
    },
  };
}

/** Loaded with the first request, because undici takes 10 MB. */
async function openAgent(proxy: HttpProxy | undefined, clock: Clock): Promise<Agent> {
  const { default: Agent } = await import('undici/lib/dispatcher/agent.js');
  return new Agent({
    connect: proxy ? await connectorThrough(proxy, clock) : CONNECT_OPTIONS,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 10_000,
    allowH2: false,
  });
}

const CONNECT_OPTIONS = { timeout: 10_000, allowH2: false };

/** Connector of undici through a proxy. Undici's own agent for proxies needs all of undici. */
async function connectorThrough(proxy: HttpProxy, clock: Clock): Promise<buildConnector.connector> {
  const { default: buildConnector } = await import('undici/lib/core/connect.js');
  const { openTunnel } = await import('../core/proxy-tunnel.ts');
  const connect = buildConnector(CONNECT_OPTIONS);
  const way = new URL(proxy.url.reveal());
  const { protocol, host } = way;
  return (target, callback) => {
    connect({ protocol, hostname: hostOf(way), host, port: String(portOf(way)) }, (error, socket) => {
      if (error) return callback(error, null);
      const cancel = clock.after(CONNECT_OPTIONS.timeout, () => socket.destroy());
      openTunnel(socket, { hostname: hostOf(target), port: portOf(target) }, proxy).then(
        () => {
          cancel();
          if (target.protocol === 'https:') connect({ ...target, httpSocket: socket }, callback);
          else callback(null, socket);
        },
        (problem) => {
          cancel();
          socket.destroy();
          callback(problem, null);
        },
      );
    });
  };
}

function hostOf({ hostname }: { hostname: string }): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

function portOf({ protocol, port }: { protocol: string; port: string }): number {
  return Number(port || (protocol === 'https:' ? 443 : 80));
}

async function* mapBodyErrors(body: AsyncIterable<Buffer>, signal: AbortSignal | undefined): AsyncGenerator<Buffer> {
  try {
    yield* body;
  } catch (thrown) {
    throw signal?.aborted ? signal.reason : toFetchFailure(thrown);
  }
}
