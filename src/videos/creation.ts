/** A request for a video after every check: what is stored of it, and what was left out. */

import { createHash } from 'node:crypto';
import { setImmediate as breathe } from 'node:timers/promises';
import { defined } from '../core/defined.ts';
import { isObject, type Json } from '../core/json/json.ts';
import type { CatalogModel } from '../core/model.ts';
import type { VideoRequest } from '../core/video.ts';
import type { VideoDetails } from '../records/video-task.ts';
import { expectedDimensions } from './dimensions.ts';

export interface Creation {
  model: CatalogModel;
  request: VideoRequest;
  callbackUrl?: string;
  /** Seconds after which the task expires; absent leaves it to the gateway. */
  expiresAfter?: number;
  metadata?: Record<string, string>;
  /** Whom the caller made it for. */
  user?: string;
  /** Fields that were not needed, as the caller spelled them. */
  dropped: string[];
}

/** What is shown of a request and what its price rests on. */
export function detailsOf({ model, request, metadata, user }: Creation): VideoDetails {
  const { video = {} } = model;
  const { duration = video.defaults?.duration, seed, audio, count } = request;
  const dimensions = expectedDimensions(request, video);
  return { count, ...dimensions, ...defined({ duration, seed, audio, metadata, user, prices: video.prices }) };
}

/** Equal for requests that mean the same, however they were written. */
export async function requestDigest({ model, dropped: _dropped, ...meant }: Creation): Promise<string> {
  const text = JSON.stringify(withSortedKeys({ model: model.id, ...meant }));
  await breathe();
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
