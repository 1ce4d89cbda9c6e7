/** Media URLs: fetches media for targets that don't fetch URLs, and refuses private addresses for targets that do. */

import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Cancellation } from '../../core/cancellation.ts';
import type { ChatRequest, MediaPart, Part } from '../../core/chat.ts';
import { type ErrorCode, GatewayError } from '../../core/errors.ts';
import { isTextType, mimeOfName, sniffBase64, sniffMime } from '../../core/mime.ts';
import { createAddressPolicy } from '../../net/address-policy.ts';
import { checkUrl } from '../../net/check-url.ts';
import type { FetchBytes, Fetched } from '../../net/guarded-client.ts';
import { createSemaphore } from '../../net/semaphore.ts';

export interface MediaNeeds {
  /** The target requires the media type of every URL. */
  typed: boolean;
  /** The target fetches no URLs. */
  inline: boolean;
  /** Cancelled when the client disconnects. */
  client?: Cancellation;
}

const MEBIBYTE = 1024 * 1024;
const MAX_BYTES = 20 * MEBIBYTE;
const MAX_TOTAL_BYTES = 64 * MEBIBYTE;
const MAX_PARALLEL_FETCHES = 4;
/** Addresses checked between two yields to the event loop. */
const ADDRESSES_PER_SLICE = 500;

/** Policy for URLs that the upstream fetches; plain http is allowed. */
const PASSED_ON = createAddressPolicy({ allowHttp: true });

/** URLs of storage and videos that only the provider can open. */
const PROVIDERS_OWN =
  /^(gs|s3):\/\/|^https:\/\/(generativelanguage\.googleapis\.com|(www\.|m\.)?youtube\.com|youtu\.be)(\/|$)/i;

/**
 * Adds media that the target can't fetch: replaces URLs by their content (at most 20 MiB each, 64 MiB together)
 * and detects media types. Throws `invalid_request` naming a URL that can't be fetched or has another media type.
 */
export async function inlineMedia(request: ChatRequest, needs: MediaNeeds, fetchBytes: FetchBytes): Promise<void> {
  const parts = [...mediaOf(request)];
  for (const part of parts) detectType(part);
  const fetched = parts.filter((part) => mustFetch(part, needs));
  if (fetched.length === 0) return;
  const partsByUrl = Map.groupBy(fetched, (part) => part.url ?? '');
  const gate = createSemaphore(MAX_PARALLEL_FETCHES);
  const stop = new AbortController();
  const signal = needs.client ? AbortSignal.any([needs.client.signal, stop.signal]) : stop.signal;
  let total = 0;

  async function inline(url: string, [first, ...others]: MediaPart[]): Promise<void> {
    if (!first) return;
    const fetched = await fetchBytes(url, { maxBytes: MAX_BYTES, signal }).catch((thrown) => fail(first, thrown));
    total += fetched.bytes.length;
    if (total > MAX_TOTAL_BYTES)
      refuse(first, `all fetched media together exceed ${MAX_TOTAL_BYTES} bytes.`, 'payload_too_large');
    for (const part of [first, ...others]) fill(part, fetched);
  }

  try {
    await Promise.all([...partsByUrl].map(([url, places]) => gate(() => inline(url, places), signal)));
  } catch (thrown) {
    if (needs.client?.isCancelled)
      throw new GatewayError('client_closed', 'The request was cancelled.', { cause: thrown });
    throw thrown;
  } finally {
    stop.abort();
  }
}

/** Throws `invalid_request` for a URL with a private, local or metadata address that the target would fetch. */
export async function refusePrivateUrls(request: ChatRequest): Promise<void> {
  let checked = 0;
  for (const part of mediaOf(request)) {
    if (part.url === undefined || PROVIDERS_OWN.test(part.url)) continue;
    if (++checked % ADDRESSES_PER_SLICE === 0) await yieldToEventLoop();
    try {
      checkUrl(part.url, PASSED_ON);
    } catch (thrown) {
      fail(part, thrown);
    }
  }
}

function* mediaOf(request: ChatRequest): Generator<MediaPart> {
  for (const turn of request.turns) yield* mediaIn(turn.parts);
}

function* mediaIn(parts: readonly Part[]): Generator<MediaPart> {
  for (const part of parts) {
    if (part.type === 'media') yield part;
    if (part.type === 'result') yield* mediaIn(part.parts);
  }
}

function detectType(part: MediaPart): void {
  if (part.mime !== undefined) return;
  const mime = part.data === undefined ? mimeOfName(part.url ?? '') : sniffBase64(part.data);
  if (mime !== undefined && fits(part.kind, mime)) part.mime = mime;
}

function mustFetch(part: MediaPart, needs: MediaNeeds): boolean {
  if (part.url === undefined) return false;
  if (needs.inline) return true;
  return needs.typed && part.mime === undefined && !PROVIDERS_OWN.test(part.url);
}

/** The content takes precedence over the server's header, and the header over the file name. */
function fill(part: MediaPart, { bytes, type }: Fetched): void {
  const claimed = type === 'application/octet-stream' ? undefined : type;
  const found = sniffMime(bytes) ?? claimed ?? part.mime;
  // MP4, Ogg and WebM can contain audio or video.
  const mime = part.kind === 'audio' ? found?.replace(/^video\//, 'audio/') : found;
  if (mime === undefined) refuse(part, 'its media type is unknown.');
  if (!fits(part.kind, mime)) refuse(part, `the content is ${mime}.`);
  part.mime = mime;
  if (part.kind === 'document' && isTextType(mime)) part.text = bytes.toString('utf8');
  else part.data = bytes.toString('base64');
  delete part.url;
}

function fits(kind: MediaPart['kind'], mime: string): boolean {
  return kind === 'document' || mime.startsWith(`${kind}/`);
}

function fail(part: MediaPart, thrown: unknown): never {
  if (!(thrown instanceof GatewayError) || thrown.code === 'client_closed') throw thrown;
  refuse(part, thrown.message, thrown.code, thrown);
}

/** The URL without parts that may be secret, for messages. */
function refuse(part: MediaPart, message: string, code: ErrorCode = 'invalid_request', cause?: unknown): never {
  const url = (part.url ?? '')
    .slice(0, 1000)
    .replace(/[?#].*$/s, '')
    .replace(/\/\/[^/]*@/, '//')
    .slice(0, 100);
  throw new GatewayError(code, `${part.kind} URL ${url}: ${message}`, { cause });
}
