/** Video content as an HTTP response: from the mirror, otherwise proxied from the upstream. */

import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { type ByteShare, createByteBudget } from '../../core/byte-budget.ts';
import type { Clock } from '../../core/clock.ts';
import { GatewayError } from '../../core/errors.ts';
import type { MirroredFile } from '../../records/video-task.ts';
import type { AssetSource } from '../mirror.ts';
import { type ByteRange, type MediaStore, nameIn } from './media-store.ts';
import { mediaTypeOf } from './media-type.ts';
import { openRemote } from './proxy.ts';
import { matchesEtag, parseRange } from './range.ts';
import { type ContentRequest, type ContentResponse, contentHeaders, headerOf } from './response.ts';
import type { DownloadClients } from './source.ts';

/** `refresh` queries the upstream for a new URL if the old one has expired. */
export type Content =
  | { type: 'kept'; kept: MirroredFile }
  | { type: 'upstream'; owner: string; source: AssetSource; refresh?(): Promise<AssetSource | undefined> };

/**
 * Throws `video_content_expired` if the mirrored file is gone, `upstream_content_unavailable` if the upstream does not return it, and
 * `unavailable` if videos that are being sent leave no memory for it.
 */
export type OpenContent = (content: Content, request: ContentRequest) => Promise<ContentResponse>;

/** Memory for videos that came as base64 and are being sent: each is whole in memory until its client has taken it. */
const MAX_INLINE_BYTES = 256 * 1024 * 1024;
const NO_ROOM_RETRY_MS = 5000;
const SLICE_BYTES = 64 * 1024;

interface ServedFile {
  sha256: string;
  bytes: number;
  mime: string;
  /** Whether the file still exists. */
  exists(): Promise<boolean>;
  open(range: ByteRange | undefined): Promise<Readable | undefined>;
}

export function createContentReader(
  clients: DownloadClients,
  storeOf: (kept: MirroredFile) => MediaStore | undefined,
  clock: Clock,
  maxInlineBytes = MAX_INLINE_BYTES,
): OpenContent {
  const inlineBytes = createByteBudget(maxInlineBytes);
  /** Digests of videos in memory, which clients load in many parts. */
  const digests = new WeakMap<Buffer, string>();

  function digestOf(content: Buffer): string {
    const digest = digests.get(content) ?? createHash('sha256').update(content).digest('hex');
    digests.set(content, digest);
    return digest;
  }

  return async (content, request) => {
    if (content.type === 'kept') {
      return await serve(mirroredFile(content.kept, storeOf(content.kept)), request);
    }
    if (content.source.type === 'data') {
      const { data } = content.source;
      const bytes = typeof data === 'string' ? Buffer.from(data, 'base64') : data;
      return await serve(inlineFile(bytes, digestOf(bytes), inlineBytes.open(content.owner)), request);
    }
    return await openRemote(clients, { source: content.source, refresh: content.refresh }, request, clock);
  };
}

async function serve(file: ServedFile, request: ContentRequest): Promise<ContentResponse> {
  const etag = `"${file.sha256}"`;
  const common = { ...contentHeaders(file.mime, request.name), etag };
  if (matchesEtag(headerOf(request, 'if-none-match'), etag)) return { status: 304, headers: common };
  const range = rangeOf(request, file.bytes, etag);
  if (range === 'unsatisfiable') {
    return { status: 416, headers: { ...common, 'content-range': `bytes */${file.bytes}`, 'content-length': '0' } };
  }
  const response = contentResponse(range, file.bytes, common);
  if (request.method === 'HEAD') return (await file.exists()) ? response : throwExpired();
  return { ...response, body: (await file.open(range)) ?? throwExpired() };
}

function throwExpired(): never {
  throw new GatewayError('video_content_expired', 'This video is no longer kept.');
}

/** Ranges apply to GET only, and only if `If-Range` is absent or matches. */
function rangeOf(request: ContentRequest, bytes: number, etag: string): ByteRange | 'unsatisfiable' | undefined {
  const condition = headerOf(request, 'if-range');
  if (request.method !== 'GET' || (condition !== undefined && condition !== etag)) return undefined;
  return parseRange(headerOf(request, 'range'), bytes);
}

function contentResponse(range: ByteRange | undefined, bytes: number, common: Record<string, string>): ContentResponse {
  if (!range) return { status: 200, headers: { ...common, 'content-length': String(bytes) } };
  const { start, end } = range;
  const span = { 'content-length': String(end - start + 1), 'content-range': `bytes ${start}-${end}/${bytes}` };
  return { status: 206, headers: { ...common, ...span } };
}

function mirroredFile(kept: MirroredFile, store: MediaStore | undefined): ServedFile {
  const name = nameIn(kept);
  return {
    ...kept,
    exists: async () => (await store?.exists(name, kept.bytes)) ?? false,
    open: async (range) => await store?.open(name, range, kept.bytes),
  };
}

function inlineFile(content: Buffer, sha256: string, memory: ByteShare): ServedFile {
  return {
    sha256,
    bytes: content.length,
    mime: mediaTypeOf(content) ?? 'video/mp4',
    exists: async () => true,
    async open(range) {
      if (!memory.resize(content.length)) {
        const message = 'Videos that are being downloaded leave no memory for this one; download fewer at once.';
        throw new GatewayError('unavailable', message, { retryAfter: NO_ROOM_RETRY_MS });
      }
      const bytes = range ? content.subarray(range.start, range.end + 1) : content;
      return Readable.from(slicesOf(bytes)).once('close', () => memory.close());
    },
  };
}

/** Slices that are sent at the pace of the client. */
function* slicesOf(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += SLICE_BYTES) yield bytes.subarray(start, start + SLICE_BYTES);
}
