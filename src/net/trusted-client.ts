/**
 * HTTP client for addresses that the operator configured, e.g. an upstream or an object store. They may be private and use
 * http. It follows no redirects.
 */

import type { Readable } from 'node:stream';
import type Agent from 'undici/lib/dispatcher/agent.js';
import { type Clock, startTimeout, systemClock } from '../core/clock.ts';
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

export function createTrustedClient({ clock = systemClock }: { clock?: Clock } = {}): TrustedClient {
  let opened: Promise<Agent> | undefined;

  async function request(text: string, { method, headers, body, ...bounds }: TrustedRequest): Promise<TrustedResponse> {
    const url = new URL(text);
    const { signal, cancel } =
      bounds.deadline === undefined
        ? { signal: bounds.signal, cancel() {} }
        : startTimeout(clock, bounds.deadline, bounds.signal);
    try {
      const sent = { 'user-agent': 'polygate', ...headers };
      const path = url.pathname + url.search;
      opened ??= openAgent();
      const { default: requestOf } = await import('undici/lib/api/api-request.js');
      const response = await requestOf.call(await opened, {
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

  return { request, close: async () => (await opened)?.destroy() };
}

/** Loaded with the first request, because undici takes 10 MB. */
async function openAgent(): Promise<Agent> {
  const { default: Agent } = await import('undici/lib/dispatcher/agent.js');
  return new Agent({
    connect: { timeout: 10_000 },
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 10_000,
    allowH2: false,
  });
}

async function* mapBodyErrors(body: AsyncIterable<Buffer>, signal: AbortSignal | undefined): AsyncGenerator<Buffer> {
  try {
    yield* body;
  } catch (thrown) {
    throw signal?.aborted ? signal.reason : toFetchFailure(thrown);
  }
}
