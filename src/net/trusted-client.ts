/**
 * HTTP client for addresses that the operator configured, e.g. an upstream or an object store. They may be private and use
 * http. It follows no redirects.
 */

import type { Readable } from 'node:stream';
import { Agent } from 'undici';
import { toFetchFailure } from './fetch-failure.ts';

export interface TrustedRequest {
  method: 'GET' | 'HEAD' | 'PUT' | 'DELETE';
  headers?: Record<string, string>;
  /** A stream needs a `content-length` header. */
  body?: Buffer | Readable;
  /** The only timeout once the connection is established. */
  signal: AbortSignal;
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

export function createTrustedClient(): TrustedClient {
  const agent = new Agent({
    connect: { timeout: 10_000 },
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 10_000,
    allowH2: false,
  });

  async function request(text: string, { method, headers, body, signal }: TrustedRequest): Promise<TrustedResponse> {
    const url = new URL(text);
    try {
      const sent = { 'user-agent': 'polygate', ...headers };
      const path = url.pathname + url.search;
      const answer = await agent.request({ origin: url.origin, path, method, headers: sent, body, signal });
      answer.body.on('error', () => {});
      const close = () => void answer.body.destroy();
      return { status: answer.statusCode, headers: answer.headers, body: mapBodyErrors(answer.body, signal), close };
    } catch (thrown) {
      throw signal.aborted ? signal.reason : toFetchFailure(thrown);
    }
  }

  return { request, close: () => agent.destroy() };
}

async function* mapBodyErrors(body: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    yield* body;
  } catch (thrown) {
    throw signal.aborted ? signal.reason : toFetchFailure(thrown);
  }
}
