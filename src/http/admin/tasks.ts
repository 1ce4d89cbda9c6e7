/** Handlers of the admin API for video tasks and webhooks of all keys. */

import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import type { VideoAttempt, VideoTask } from '../../records/video-task.ts';
import { createDeliveryReader } from '../deliveries.ts';
import { serveContent } from '../video-content.ts';
import { UUID, VIDEO_STATUSES } from '../video-queries.ts';
import { iso } from './key-object.ts';
import { option, whole } from './query.ts';
import type { AdminOptions, AdminRequest } from './request.ts';
import type { AdminHandlers } from './routes.ts';

type TaskHandlers = Pick<
  AdminHandlers,
  | 'VideoList'
  | 'Video'
  | 'VideoCancel'
  | 'VideoContent'
  | 'VideoRemoval'
  | 'DeliveryList'
  | 'DeliveryBody'
  | 'Receivers'
>;

const PAGE = { least: 1, most: 100, byDefault: 20 };

export function createTaskHandlers({ store, video, secrets, clock: { now } }: AdminOptions): TaskHandlers {
  const { videos, encode: encodeTask } = video;
  const deliveries = createDeliveryReader({ store, secrets, now });
  const encode = (task: VideoTask): Json => ({ ...encodeTask(task), key: task.owner });

  async function listVideos({ query }: AdminRequest): Promise<Json> {
    const limit = whole(query, 'limit', PAGE);
    const [after, model, key] = ['after', 'model', 'key'].map((name) => query.get(name) ?? undefined);
    if (after !== undefined && !UUID.test(after)) {
      throw new GatewayError('invalid_request', 'after must be the id of a task.', { param: 'after' });
    }
    const status = option(query, 'status', VIDEO_STATUSES);
    const { tasks, more } = await videos.list(key, { limit, order: 'desc', after, status, model });
    return { data: tasks.map(encode), next: more ? (tasks.at(-1)?.id ?? null) : null };
  }

  async function taskOf({ parameters: { id = '' } }: AdminRequest): Promise<VideoTask> {
    if (!UUID.test(id)) throw new GatewayError('video_not_found', 'There is no video task with this id.');
    return videos.find(id);
  }

  async function show(request: AdminRequest): Promise<Json> {
    const task = await taskOf(request);
    const loaded = await store.call('loadVideo', { id: task.id });
    return { data: { ...encode(task), submission: loaded ? encodeSubmission(loaded.attempt) : null } };
  }

  async function content(request: AdminRequest): Promise<void> {
    const { owner, id } = await taskOf(request);
    return serveContent(request.context, { owner, id }, video);
  }

  async function cancel(request: AdminRequest): Promise<Json> {
    const { owner, id } = await taskOf(request);
    return { data: encode(await videos.cancel(owner, id, { abandon: false })) };
  }

  async function remove(request: AdminRequest): Promise<Json> {
    const { owner, id } = await taskOf(request);
    await videos.remove(owner, id);
    return { data: { id, object: 'video.deleted', deleted: true } };
  }

  return {
    VideoList: listVideos,
    Video: show,
    VideoCancel: cancel,
    VideoContent: content,
    VideoRemoval: remove,
    DeliveryList: ({ query }) => deliveries.list(query, { owner: query.get('key') ?? undefined, isOperator: true }),
    DeliveryBody: ({ parameters: { task = '' } }) => deliveries.body(task, { isOperator: true }),
    Receivers: () => deliveries.receivers({ isOperator: true }),
  };
}

/** How the task was handed to its provider. The request itself is erased once a provider has accepted it. */
function encodeSubmission({ provider, state, createdAt, sentAt, acceptedAt, ref }: VideoAttempt): Json {
  return {
    provider,
    state,
    created_at: iso(createdAt),
    sent_at: iso(sentAt),
    accepted_at: iso(acceptedAt),
    reference: ref ?? null,
  };
}
