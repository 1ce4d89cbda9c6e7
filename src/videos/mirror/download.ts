/** Download of a video to a partial file; resumes with a range request. */

import type { Clock } from '../../core/clock.ts';
import { GatewayError } from '../../core/errors.ts';
import { FetchFailure } from '../../net/fetch-failure.ts';
import type { TrustedResponse } from '../../net/trusted-client.ts';
import type { DiskReserve } from './disk-reserve.ts';
import { NotMirrorable } from './disk-reserve.ts';
import { watchIdle } from './idle-timeout.ts';
import { HEAD_BYTES, mediaTypeOf } from './media-type.ts';
import type { PartialFile, ResourceVersion } from './partial-file.ts';
import { type DownloadClients, openSource, type RemoteSource } from './source.ts';

export interface DownloadLimits {
  /** Largest video in bytes. */
  maxBytes: number;
  /** Idle timeout: time without data. */
  idleMs: number;
  /** Timeout of one try. */
  totalMs: number;
}

export interface DownloadContext {
  limits: DownloadLimits;
  reserve: DiskReserve;
  signal: AbortSignal;
  clock: Clock;
}

/** Interval between two checks of free disk space. */
const DISK_CHECK_INTERVAL_BYTES = 64 * 1024 * 1024;

/**
 * Completes the partial file. Throws `NotMirrorable` if no later try can succeed, otherwise the error, with `upstreamStatus`
 * if the server refused. The partial file keeps the received bytes.
 */
export async function download(
  clients: DownloadClients,
  source: RemoteSource,
  part: PartialFile,
  bounds: DownloadContext,
): Promise<void> {
  if (part.bytes > 0 && part.bytes === part.version.total) return;
  const { limits } = bounds;
  const watch = watchIdle(bounds.clock, limits.idleMs, bounds.signal);
  let response: TrustedResponse | undefined;
  try {
    const reach = { timeoutMs: limits.totalMs, maxBytes: limits.maxBytes, signal: watch.signal };
    response = await openSource(clients, source, { headers: requestHeaders(part), ...reach });
    await prepare(part, response, bounds);
    await receive(part, watch.pass(response.body), bounds);
  } catch (thrown) {
    throw isPermanent(thrown) ? new NotMirrorable('its address may not be requested', thrown) : thrown;
  } finally {
    watch.stop();
    response?.close();
  }
}

function requestHeaders({ bytes, version: { validator } }: PartialFile): Record<string, string> {
  const resumed = bytes > 0 && validator !== undefined && { range: `bytes=${bytes}-`, 'if-range': validator };
  return { accept: 'video/*, */*;q=0.5', ...resumed };
}

/** Checks the headers of the response and restarts the partial file if the response does not continue it. */
async function prepare(
  part: PartialFile,
  { status, headers }: TrustedResponse,
  { limits, reserve }: DownloadContext,
): Promise<void> {
  if (status === 200) {
    const version = versionOf(headers);
    if ((version.total ?? 0) > limits.maxBytes) throw tooLarge(limits.maxBytes);
    if ((headers['content-encoding'] ?? 'identity') !== 'identity') throw new NotMirrorable('it came compressed');
    await reserve.requireSpace(version.total ?? 0);
    return await part.restart(version);
  }
  if (status === 206 && isContinuation(part, headers)) return;
  if (status === 206 || status === 416) await part.restart({});
  throw unavailable(`The upstream answered with status ${status} instead of a video.`, status);
}

async function receive(
  part: PartialFile,
  body: AsyncIterable<Buffer>,
  { limits, reserve }: DownloadContext,
): Promise<void> {
  let checkedAt = part.bytes;
  for await (const chunk of body) {
    if (part.bytes + chunk.length > limits.maxBytes) throw tooLarge(limits.maxBytes);
    await part.append(chunk);
    if (part.head.length === HEAD_BYTES) checkVideo(part);
    if (part.bytes - checkedAt < DISK_CHECK_INTERVAL_BYTES) continue;
    await reserve.requireSpace(0);
    checkedAt = part.bytes;
  }
  if (part.bytes !== (part.version.total ?? part.bytes)) {
    throw unavailable('The upstream stopped in the middle of a video.');
  }
  checkVideo(part);
}

export function checkVideo({ head }: PartialFile): void {
  if (mediaTypeOf(head) === undefined) throw new NotMirrorable('it is not a video');
}

export function tooLarge(maxBytes: number): NotMirrorable {
  return new NotMirrorable(`it is larger than ${maxBytes} bytes`);
}

function versionOf(headers: TrustedResponse['headers']): ResourceVersion {
  const { etag, 'last-modified': modified, 'content-length': length } = headers;
  const validator = etag === undefined ? modified : /^"[^"]*"$/.test(String(etag)) && etag;
  return { ...(validator && { validator: String(validator) }), ...(length !== undefined && { total: Number(length) }) };
}

/** Whether a partial response starts at the end of the partial file and has the same version. */
function isContinuation(
  { bytes, version: { validator, total } }: PartialFile,
  headers: TrustedResponse['headers'],
): boolean {
  const [, start, size] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(String(headers['content-range'])) ?? [];
  const isSame = headers.etag === undefined || !validator?.startsWith('"') || headers.etag === validator;
  const fits = total === undefined || size === '*' || Number(size) === total;
  return bytes > 0 && Number(start) === bytes && isSame && fits;
}

/** A blocked address stays blocked; DNS errors, for example, can be temporary. */
function isPermanent(thrown: unknown): boolean {
  if (thrown instanceof FetchFailure) return ['blocked', 'too-large', 'status'].includes(thrown.outcome);
  return thrown instanceof GatewayError && thrown.code === 'invalid_request';
}

function unavailable(message: string, upstreamStatus?: number): GatewayError {
  return new GatewayError(
    'upstream_content_unavailable',
    message,
    upstreamStatus === undefined ? {} : { upstreamStatus },
  );
}
