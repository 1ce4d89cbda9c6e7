/** Inline inputs: fetches media for providers that accept base64 only, before the submission. */

import { GatewayError } from '../core/errors.ts';
import { sniffMime } from '../core/mime.ts';
import type { VideoInput, VideoRequest } from '../core/video.ts';
import { FetchFailure } from '../net/fetch-failure.ts';
import type { FetchBytes } from '../net/guarded-client.ts';

/** Per input. */
const MAX_FETCHED_BYTES = 20 * 1024 * 1024;

/** `retryable`: a later try may succeed. */
export type InlineResult =
  | { type: 'request'; request: VideoRequest }
  | { type: 'failed'; retryable: boolean; message: string };

/** Replaces URLs by their content. Rejects with the signal's reason on abort. */
export async function inlineInputs(
  request: VideoRequest,
  fetchBytes: FetchBytes,
  signal: AbortSignal,
): Promise<InlineResult> {
  const inline = async <Place extends { input: VideoInput }>(place: Place): Promise<Place> => ({
    ...place,
    input: await inlineInput(place.input, fetchBytes, signal),
  });
  try {
    const frames = await Promise.all(request.frames.map(inline));
    const references = await Promise.all(request.references.map(inline));
    return { type: 'request', request: { ...request, frames, references } };
  } catch (thrown) {
    signal.throwIfAborted();
    if (!(thrown instanceof GatewayError)) throw thrown;
    return {
      type: 'failed',
      retryable: isRetryable(thrown),
      message: `An input could not be fetched: ${thrown.message}`,
    };
  }
}

async function inlineInput(input: VideoInput, fetchBytes: FetchBytes, signal: AbortSignal): Promise<VideoInput> {
  if (input.url === undefined) return input;
  const { bytes, type } = await fetchBytes(input.url, { maxBytes: MAX_FETCHED_BYTES, signal });
  const mime = sniffMime(bytes) ?? type ?? input.mime ?? 'application/octet-stream';
  return { data: bytes.toString('base64'), mime };
}

function isRetryable(thrown: GatewayError): boolean {
  if (!(thrown instanceof FetchFailure)) return false;
  return thrown.outcome !== 'blocked' && thrown.outcome !== 'status' && thrown.outcome !== 'too-large';
}
