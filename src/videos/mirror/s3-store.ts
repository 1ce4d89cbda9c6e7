/** S3 media store: objects in a bucket of an S3-compatible store. */

import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { ByteCollector } from '../../core/byte-collector.ts';
import { type Clock, systemClock } from '../../core/clock.ts';
import { GatewayError } from '../../core/errors.ts';
import { refusalOf, type S3Call, type S3Requests } from '../../net/s3-requests.ts';
import type { TrustedClient, TrustedResponse } from '../../net/trusted-client.ts';
import { watchIdle } from './idle-timeout.ts';
import type { MediaStore, StoredFile } from './media-store.ts';

export interface S3StoreOptions {
  requests: S3Requests;
  client: TrustedClient;
  /** Prefix of the object names in listings. */
  prefix: string;
  /** Idle timeout. */
  idleMs: number;
  /** Timeout of one upload. */
  totalMs: number;
  clock?: Clock;
}

interface StoreCall extends S3Call {
  headers?: Record<string, string>;
  body?: Readable;
  deadline?: number;
  signal?: AbortSignal;
}

/** Maximum size of a page of a listing: a thousand names of the longest kind take a quarter of it. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;
/** Maximum pages of a listing: ten million videos. */
const MAX_PAGES = 10_000;
/** Names of videos; a bucket may hold other objects. */
const NAME = /^videos\/[^/]+\/[^/]+$/;

export function createS3Store({
  requests,
  client,
  prefix,
  idleMs,
  totalMs,
  clock = systemClock,
}: S3StoreOptions): MediaStore {
  async function call({ headers, body, deadline, signal, ...signable }: StoreCall): Promise<TrustedResponse> {
    const signed = requests.sign(signable);
    const sent = { method: signable.method, headers: { ...headers, ...signed.headers }, deadline, signal };
    return await client.request(signed.url, { ...sent, ...(body && { body }) });
  }

  /** Makes a call and ignores the response body. */
  async function callWithoutBody(request: StoreCall, allowed: number[]): Promise<TrustedResponse> {
    const response = await call(request);
    if (!allowed.includes(response.status)) throw storeError(await refusalOf(response, clock));
    response.close();
    return response;
  }

  async function listPage(token: string | undefined): Promise<string> {
    const query = { 'list-type': '2', prefix: `${prefix}videos/`, ...(token && { 'continuation-token': token }) };
    const response = await call({ method: 'GET', query, deadline: idleMs });
    if (response.status !== 200) throw storeError(await refusalOf(response, clock));
    const page = new ByteCollector();
    for await (const chunk of response.body) {
      page.add(chunk);
      if (page.size > MAX_PAGE_BYTES) throw endless(response);
    }
    return page.take().toString();
  }

  function endless(response?: TrustedResponse): GatewayError {
    response?.close();
    return new GatewayError('upstream_content_unavailable', "The object store's listing has no end.");
  }

  return {
    async put(path, name, { sha256, bytes, mime }, outer) {
      const headers = { 'content-length': String(bytes), 'content-type': mime };
      const body = createReadStream(path);
      const bounds = { deadline: totalMs, signal: outer };
      try {
        await callWithoutBody({ method: 'PUT', name, headers, body, sha256, ...bounds }, [200, 201, 204]);
      } finally {
        body.destroy();
      }
    },
    async exists(name, bytes) {
      const request = { method: 'HEAD', name, deadline: idleMs } as const;
      const { status, headers } = await callWithoutBody(request, [200, 404]);
      return status === 200 && Number(headers['content-length']) === bytes;
    },
    async open(name, range) {
      const watch = watchIdle(clock, idleMs);
      const headers = range && { range: `bytes=${range.start}-${range.end}` };
      const response = await call({ method: 'GET', name, ...(headers && { headers }), signal: watch.signal }).catch(
        (thrown) => {
          watch.stop();
          throw storeError(undefined, thrown);
        },
      );
      const stop = () => {
        watch.stop();
        response.close();
      };
      if (response.status === (range ? 206 : 200)) {
        return Readable.from(watch.pass(response.body), { objectMode: false }).once('close', stop);
      }
      watch.stop();
      if (response.status !== 404) throw storeError(await refusalOf(response, clock));
      response.close();
      return undefined;
    },
    async remove(name) {
      await callWithoutBody({ method: 'DELETE', name, deadline: idleMs }, [200, 204, 404]);
    },
    async *list() {
      let token: string | undefined;
      for (let pages = 1; ; pages++) {
        const text = await listPage(token);
        yield* entriesOf(text, prefix);
        const next = fieldOf(text, 'NextContinuationToken');
        if (!next) return;
        if (next === token || pages === MAX_PAGES) throw endless();
        token = next;
      }
    },
  };
}

/** Objects whose age the store does not tell are left out, so that they are not removed. */
function* entriesOf(text: string, prefix: string): Generator<StoredFile> {
  for (const piece of text.split('<Contents>').slice(1)) {
    const [content = ''] = piece.split('</Contents>', 1);
    const name = (fieldOf(content, 'Key') ?? '').slice(prefix.length);
    const modifiedAt = Date.parse(fieldOf(content, 'LastModified') ?? '');
    if (NAME.test(name) && !Number.isNaN(modifiedAt)) yield { name, modifiedAt };
  }
}

/** Object names contain no characters that XML escapes; continuation tokens may contain a few. */
function fieldOf(text: string, name: string): string | undefined {
  const [, value] = new RegExp(`<${name}>([^<]*)</${name}>`).exec(text) ?? [];
  return value
    ?.replace(/&quot;/g, '"')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&amp;/g, '&');
}

function storeError(refusal?: string, cause?: unknown): GatewayError {
  const words = refusal === undefined ? 'did not answer' : `answered with ${refusal}`;
  return new GatewayError('upstream_content_unavailable', `The object store ${words}.`, { cause });
}
