/** Validated creation request: the fields that are stored, and the names of the dropped ones. */

import { createHash } from 'node:crypto';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { isObject, type Json } from '../core/json/json.ts';
import type { CatalogModel } from '../core/model.ts';
import { defined } from '../core/plain-objects.ts';
import type { VideoRequest } from '../core/video.ts';
import type { VideoDetails } from '../records/video-task.ts';
import { expectedDimensions } from './dimensions.ts';

export interface Creation {
  model: CatalogModel;
  request: VideoRequest;
  callbackUrl?: string;
  /** Seconds after which the task expires; the gateway's default if absent. */
  expiresAfter?: number;
  metadata?: Record<string, string>;
  /** The caller's id of its end user. */
  user?: string;
  /** Names of dropped fields, as spelled by the caller. */
  dropped: string[];
}

/** Parameters that are shown with the task or determine its cost. */
export function detailsOf({ model, request, metadata, user }: Creation): VideoDetails {
  const { video = {} } = model;
  const { duration = video.defaults?.duration, seed, audio, count } = request;
  const dimensions = expectedDimensions(request, video);
  const longest = duration === undefined && video.durations?.length ? Math.max(...video.durations) : undefined;
  return { count, ...dimensions, ...defined({ duration, longest, seed, audio, metadata, user, prices: video.prices }) };
}

/** Hash of a request; equal for equivalent requests, whatever the order of their fields. */
export async function requestDigest({ model, dropped: _dropped, ...meant }: Creation): Promise<string> {
  const text = JSON.stringify(withSortedKeys({ model: model.id, ...meant }));
  await yieldToEventLoop();
  return createHash('sha256').update(text).digest('base64url');
}

function withSortedKeys(value: Json): Json {
  if (Array.isArray(value)) return value.map(withSortedKeys);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [name, withSortedKeys(value[name])]),
  );
}
