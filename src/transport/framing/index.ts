/** Framing of upstream streams: by its media type, a stream is cut into server-sent events. */

import type { Framing, Platform } from '../../core/platform.ts';
import { createFramer, type Framer } from '../../core/sse.ts';
import { createAwsEventStreamFramer } from './aws-event-stream.ts';
import { createJsonLinesFramer } from './json-lines.ts';

const EVENT_STREAM = 'text/event-stream';

const MEDIA_TYPES: Record<Framing, readonly string[]> = {
  'aws-event-stream': ['application/vnd.amazon.eventstream'],
  'json-lines': ['application/x-ndjson', 'application/jsonl', 'application/json-lines', 'application/stream+json'],
};

/** Makes framers for a stream of the media type; undefined when that is no stream of the platform. */
export function framerFor(
  { framing, decodeError }: Pick<Platform, 'framing' | 'decodeError'>,
  contentType: string | undefined,
): (() => Framer) | undefined {
  const type = contentType?.toLowerCase() ?? '';
  if (type.startsWith(EVENT_STREAM)) return createFramer;
  if (framing === undefined || !MEDIA_TYPES[framing].some((known) => type.startsWith(known))) return undefined;
  return framing === 'json-lines' ? createJsonLinesFramer : () => createAwsEventStreamFramer(decodeError);
}

/** The media types of the platform's streams, for `accept`. */
export function acceptedStreams({ framing }: Pick<Platform, 'framing'>): string {
  const [own] = framing === undefined ? [] : MEDIA_TYPES[framing];
  return own === undefined ? EVENT_STREAM : `${own}, ${EVENT_STREAM}`;
}
