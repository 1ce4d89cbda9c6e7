/** Content proxy: streams a video that is not mirrored from its upstream, with ranges, without storing it. */

import { Readable } from 'node:stream';
import type { Clock } from '../../core/clock.ts';
import { GatewayError } from '../../core/errors.ts';
import type { TrustedResponse } from '../../net/trusted-client.ts';
import type { AssetSource } from '../mirror.ts';
import { watchIdle } from './idle-timeout.ts';
import { isSingleRange } from './range.ts';
import { type ContentRequest, type ContentResponse, contentHeaders, headerOf } from './response.ts';
import { type DownloadClients, openSource, type RemoteSource } from './source.ts';

interface RemoteContent {
  source: RemoteSource;
  refresh: (() => Promise<AssetSource | undefined>) | undefined;
}

const IDLE_TIMEOUT_MS = 30_000;
/** Long, because a caller may play the video while downloading. */
const TRANSFER_TIMEOUT_MS = 4 * 3_600_000;
const FORWARDED_REQUEST_HEADERS = ['range', 'if-range', 'if-none-match'];
const FORWARDED_RESPONSE_HEADERS = ['content-length', 'content-range', 'etag', 'last-modified'];
const EXPIRED_URL_STATUSES = new Set([401, 403, 404, 410]);

/** HEAD becomes an upstream GET, because signed URLs are valid for one method only. */
export async function openRemote(
  clients: DownloadClients,
  remote: RemoteContent,
  request: ContentRequest,
  clock: Clock,
): Promise<ContentResponse> {
  const watch = watchIdle(clock, IDLE_TIMEOUT_MS, request.signal);
  let response: TrustedResponse | undefined;
  const stop = () => {
    watch.stop();
    response?.close();
  };
  try {
    response = await openWithRefresh(clients, remote, request, watch.signal);
    const result = contentResponse(response, request);
    if (request.method === 'HEAD' || result.status === 304 || result.status === 416) stop();
    else result.body = Readable.from(watch.pass(response.body), { objectMode: false }).once('close', stop);
    return result;
  } catch (thrown) {
    stop();
    request.signal.throwIfAborted();
    if (thrown instanceof GatewayError && thrown.code === 'upstream_content_unavailable') throw thrown;
    throw new GatewayError('upstream_content_unavailable', 'The upstream does not give this video.', { cause: thrown });
  }
}

async function openWithRefresh(
  clients: DownloadClients,
  { source, refresh }: RemoteContent,
  request: ContentRequest,
  signal: AbortSignal,
): Promise<TrustedResponse> {
  const options = {
    headers: forwardedHeaders(request),
    timeoutMs: TRANSFER_TIMEOUT_MS,
    maxBytes: Number.MAX_SAFE_INTEGER,
    signal,
  };
  const response = await openSource(clients, source, options);
  if (!EXPIRED_URL_STATUSES.has(response.status) || !refresh) return response;
  response.close();
  const fresh = await refresh();
  if (!fresh || fresh.type === 'data') return response;
  return await openSource(clients, fresh, options);
}

/** Several ranges would be answered with a body of several parts, which is no video; without them the whole file comes. */
function forwardedHeaders(request: ContentRequest): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name of FORWARDED_REQUEST_HEADERS) {
    const value = headerOf(request, name);
    if (value === undefined || (request.method === 'HEAD' && name !== 'if-none-match')) continue;
    if (name !== 'range' || isSingleRange(value)) headers[name] = value;
  }
  return headers;
}

function contentResponse({ status, headers }: TrustedResponse, request: ContentRequest): ContentResponse {
  if (status !== 200 && status !== 206 && status !== 304 && status !== 416) {
    throw new GatewayError('upstream_content_unavailable', 'The upstream does not give this video.', {
      upstreamStatus: status,
    });
  }
  const type = String(headers['content-type'] ?? '').toLowerCase();
  const passed: Record<string, string> = {};
  for (const name of FORWARDED_RESPONSE_HEADERS) {
    const value = headers[name];
    if (value !== undefined) passed[name] = String(value);
  }
  if (status === 304 || status === 416) delete passed['content-length'];
  return {
    status,
    headers: { ...contentHeaders(/^video\/[a-z0-9.+-]+$/.test(type) ? type : 'video/mp4', request.name), ...passed },
  };
}
