/** Request building, shared by the adapters. */

import type { Json } from '../../core/json/json.ts';
import type { ReferenceType, VideoInput, VideoRequest } from '../../core/video.ts';

/** Removes undefined fields. */
export function present(fields: Record<string, Json>): Record<string, Json> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** URL of an input, or a data URL of its bytes. */
export function inputUrl({ url, data, mime }: VideoInput): string {
  return url ?? `data:${mime ?? 'application/octet-stream'};base64,${data ?? ''}`;
}

export function frameOf(request: VideoRequest, type: VideoRequest['frames'][number]['type']): VideoInput | undefined {
  return request.frames.find((frame) => frame.type === type)?.input;
}

export function referencesOf(request: VideoRequest, type: ReferenceType): VideoInput[] {
  return request.references.filter((reference) => reference.type === type).map(({ input }) => input);
}

/** A part like `{type: 'image_url', image_url: {url}}`. */
export function mediaPart(type: ReferenceType, input: VideoInput): Record<string, Json> {
  return { type: `${type}_url`, [`${type}_url`]: { url: inputUrl(input) } };
}

/** Frames and references in OpenRouter's format; empty if there are none. */
export function mediaFields({ frames, references }: VideoRequest): Record<string, Json> {
  return {
    ...(frames.length > 0 && {
      frame_images: frames.map(({ type, input }) => ({ ...mediaPart('image', input), frame_type: type })),
    }),
    ...(references.length > 0 && {
      input_references: references.map(({ type, input }) => mediaPart(type, input)),
    }),
  };
}
