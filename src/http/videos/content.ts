/** Handlers of video content: for the owner of a task, and for holders of a signed URL. */

import { systemClock } from '../../core/clock.ts';
import { GatewayError } from '../../core/errors.ts';
import type { VideoTask } from '../../records/video-task.ts';
import type { Content } from '../../videos/mirror/content.ts';
import type { FileUrlQuery } from '../../videos/mirror/file-urls.ts';
import type { HttpContext } from '../request-context.ts';
import type { VideoOptions } from './options.ts';
import { readIndex } from './queries.ts';

/** Serves the video of a completed task at `index` of the query. Throws `video_not_ready` and `invalid_request`. */
export async function serveContent(
  context: HttpContext,
  { owner, id }: { owner: string; id: string },
  options: VideoOptions,
): Promise<void> {
  const index = readIndex(context.query);
  const task = await options.videos.get(owner, id);
  if (task.status !== 'completed') {
    throw new GatewayError('video_not_ready', `The task is ${task.status}; only completed ones have a video.`);
  }
  const asset = task.assets[index];
  if (!asset) {
    const last = task.assets.length - 1;
    throw new GatewayError('invalid_request', `index must be at most ${last}: the task has no more videos.`, {
      param: 'index',
    });
  }
  const signal = clientCloseSignal(context);
  const content = asset.kept ? mirroredContent(asset.kept) : await upstreamContent(task, index, signal, options);
  return sendContent(context, { content, name: nameOf(id, index), signal }, options);
}

/** Authorized by the signature, which is checked first. */
export async function serveFile(
  context: HttpContext,
  { id, index }: { id: string; index: number },
  options: VideoOptions,
): Promise<void> {
  options.checkFileUrl(id, index, signatureOf(context));
  const task = await options.videos.find(id);
  const kept = task.assets[index]?.kept;
  if (!kept) throw expired();
  const request = { content: mirroredContent(kept), name: nameOf(id, index), signal: clientCloseSignal(context) };
  return sendContent(context, request, options);
}

/** A picture of an answer. Authorized by the signature, which is checked first. */
export async function servePicture(context: HttpContext, name: string, options: VideoOptions): Promise<void> {
  options.checkPictureUrl(name, signatureOf(context));
  const kept = await options.findPicture(name);
  if (!kept) throw new GatewayError('video_content_expired', 'This picture is no longer kept.');
  const request = { content: mirroredContent(kept), name: 'picture', signal: clientCloseSignal(context) };
  return sendContent(context, request, options);
}

function signatureOf({ query }: HttpContext): FileUrlQuery {
  const given = (name: string) => query.get(name) ?? undefined;
  return { exp: given('exp'), kid: given('kid'), sig: given('sig') };
}

function mirroredContent(kept: Extract<Content, { type: 'kept' }>['kept']): Content {
  return { type: 'kept', kept };
}

/** Content of a video without a mirrored copy, from the upstream. */
async function upstreamContent(
  task: VideoTask,
  index: number,
  signal: AbortSignal,
  { videos, clock = systemClock }: VideoOptions,
): Promise<Content> {
  if (task.assets[index]?.expired || (task.mediaExpiresAt ?? Number.POSITIVE_INFINITY) <= clock.now()) throw expired();
  const source = await videos.source(task, index, { signal });
  if (!source) {
    throw new GatewayError('upstream_content_unavailable', 'The provider does not hand out this video at the moment.');
  }
  return {
    type: 'upstream',
    owner: task.owner,
    source,
    refresh: () => videos.source(task, index, { signal, isExpired: true }),
  };
}

interface ContentToSend {
  content: Content;
  name: string;
  signal: AbortSignal;
}

async function sendContent(
  context: HttpContext,
  { content, name, signal }: ContentToSend,
  { openContent }: VideoOptions,
): Promise<void> {
  const { method, headers } = context.request;
  const asked = { method: method === 'HEAD' ? 'HEAD' : 'GET', headers, name, signal } as const;
  context.send(await openContent(content, asked));
}

/** Aborts when the client disconnects. */
function clientCloseSignal({ response }: HttpContext): AbortSignal {
  const gone = new AbortController();
  response.on('close', () => {
    if (!response.writableFinished) gone.abort();
  });
  return gone.signal;
}

function nameOf(id: string, index: number): string {
  return index === 0 ? id : `${id}-${index}`;
}

function expired(): GatewayError {
  return new GatewayError('video_content_expired', 'This video is no longer kept.');
}
