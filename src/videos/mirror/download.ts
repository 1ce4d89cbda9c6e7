/** Gets a video, or what is missing of it, from where an upstream left it. */

import { GatewayError } from '../../core/errors.ts';
import { FetchFailure } from '../../net/failure.ts';
import type { TrustedAnswer } from '../../net/trusted.ts';
import { watchIdle } from './idle.ts';
import { HEAD_BYTES, mediaTypeOf } from './media-type.ts';
import type { Part, Version } from './part.ts';
import { type Clients, openSource, type RemoteSource } from './source.ts';

export interface Limits {
  /** Largest video in bytes. */
  maxBytes: number;
  /** Milliseconds without a byte. */
  idle: number;
  /** Milliseconds for one try. */
  total: number;
}

/** `unfit`: it may never be kept, however often it is tried. */
export type Ending = 'whole' | 'unfit';

/**
 * Fills the part. Throws when another try may succeed (with `upstreamStatus` where the other side refused), and when
 * `signal` aborts; the part keeps what has arrived.
 */
export async function download(
  clients: Clients,
  source: RemoteSource,
  part: Part,
  { limits, signal }: { limits: Limits; signal: AbortSignal },
): Promise<Ending> {
  if (part.bytes > 0 && part.bytes === part.version.total) return 'whole';
  const watch = watchIdle(limits.idle, signal);
  let answer: TrustedAnswer | undefined;
  try {
    const bounds = { deadline: limits.total, maxBytes: limits.maxBytes, signal: watch.signal };
    answer = await openSource(clients, source, { headers: requestHeaders(part), ...bounds });
    if (!(await prepare(part, answer, limits.maxBytes))) return 'unfit';
    return await receive(part, watch.watched(answer.body), limits.maxBytes);
  } catch (thrown) {
    signal.throwIfAborted();
    if (isFinal(thrown)) return 'unfit';
    throw thrown;
  } finally {
    watch.stop();
    answer?.close();
  }
}

function requestHeaders({ bytes, version: { validator } }: Part): Record<string, string> {
  const resumed = bytes > 0 && validator !== undefined && { range: `bytes=${bytes}-`, 'if-range': validator };
  return { accept: 'video/*, */*;q=0.5', ...resumed };
}

/** Brings the part in line with an answer whose body comes next; false when the body is not wanted. */
async function prepare(part: Part, { status, headers }: TrustedAnswer, maxBytes: number): Promise<boolean> {
  if (status === 200) {
    const version = versionOf(headers);
    const encoding = headers['content-encoding'] ?? 'identity';
    if ((version.total ?? 0) > maxBytes || encoding !== 'identity') return false;
    await part.restart(version);
    return true;
  }
  if (status === 206 && continues(part, headers)) return true;
  if (status === 206 || status === 416) await part.restart({});
  throw unavailable(`The upstream answered with status ${status} instead of a video.`, status);
}

async function receive(part: Part, body: AsyncIterable<Buffer>, maxBytes: number): Promise<Ending> {
  for await (const chunk of body) {
    if (part.bytes + chunk.length > maxBytes) return 'unfit';
    await part.append(chunk);
    if (part.head.length === HEAD_BYTES && mediaTypeOf(part.head) === undefined) return 'unfit';
  }
  if (part.bytes !== (part.version.total ?? part.bytes))
    throw unavailable('The upstream stopped in the middle of a video.');
  return mediaTypeOf(part.head) === undefined ? 'unfit' : 'whole';
}

function versionOf(headers: TrustedAnswer['headers']): Version {
  const { etag, 'last-modified': modified, 'content-length': length } = headers;
  const validator = etag === undefined ? modified : /^"[^"]*"$/.test(String(etag)) && etag;
  return { ...(validator && { validator: String(validator) }), ...(length !== undefined && { total: Number(length) }) };
}

/** Whether a partial answer begins where the part ends and belongs to the same version. */
function continues({ bytes, version: { validator, total } }: Part, headers: TrustedAnswer['headers']): boolean {
  const [, start, size] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(String(headers['content-range'])) ?? [];
  const isSame = headers.etag === undefined || !validator?.startsWith('"') || headers.etag === validator;
  const fits = total === undefined || size === '*' || Number(size) === total;
  return bytes > 0 && Number(start) === bytes && isSame && fits;
}

/** What may not be requested now may not be requested a minute later; a name that does not resolve may then. */
function isFinal(thrown: unknown): boolean {
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
