/** Handlers of the admin API for video tasks and webhooks of all keys. */

import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { VIDEO_STATUSES, type VideoAttempt, type VideoTask } from '../../records/video-task.ts';
import { readCreatedSpan } from '../created-span.ts';
import { createDeliveryReader } from '../deliveries.ts';
import { listOrFile } from '../list-file.ts';
import { encodeTotal, isFirstPage } from '../list-total.ts';
import type { KeyNames } from '../requests/object.ts';
import { readText } from '../requests/query.ts';
import { serveContent } from '../videos/content.ts';
import { UUID } from '../videos/queries.ts';
import { summarizeVideos } from '../videos/summary.ts';
import { iso } from './key-object.ts';
import { option, PAGES, searchText, whole } from './query.ts';
import type { AdminOptions, AdminRequest } from './request.ts';
import type { AdminHandlers } from './routes.ts';

type TaskHandlers = Pick<
  AdminHandlers,
  | 'VideoList'
  | 'Video'
  | 'VideoSummary'
  | 'VideoCancel'
  | 'VideoContent'
  | 'VideoRemoval'
  | 'DeliveryList'
  | 'DeliveryBody'
  | 'Receivers'
>;

export function createTaskHandlers({ keys, store, video, secrets, clock: { now } }: AdminOptions): TaskHandlers {
  const { videos, encode: encodeTask } = video;
  const deliveries = createDeliveryReader({ store, secrets, now });
  const encode = (task: VideoTask, names: KeyNames): Json => {
    return { ...encodeTask(task), key: task.owner, key_name: names.get(task.owner) ?? null };
  };

  async function listVideos(query: URLSearchParams): Promise<Json> {
    const limit = whole(query, 'limit', PAGES.videos);
    const [after, model, key] = ['after', 'model', 'key'].map((name) => query.get(name) ?? undefined);
    if (after !== undefined && !UUID.test(after)) {
      throw new GatewayError('invalid_request', 'after must be the id of a task.', { param: 'after' });
    }
    const status = option(query, 'status', VIDEO_STATUSES);
    const filter = { status, model, search: searchText(query, 'search'), ...readCreatedSpan(query) };
    const [{ tasks, next = null }, total, names] = await Promise.all([
      videos.list(key, { limit, order: 'desc', after, ...filter }),
      isFirstPage(query) ? videos.count(key, filter) : undefined,
      keys.names(),
    ]);
    return { data: tasks.map((task) => encode(task, names)), next, ...encodeTotal(total) };
  }

  async function taskOf({ parameters: { id = '' } }: AdminRequest): Promise<VideoTask> {
    if (!UUID.test(id)) throw new GatewayError('video_not_found', 'There is no video task with this id.');
    return videos.find(id);
  }

  async function show(request: AdminRequest): Promise<Json> {
    const task = await taskOf(request);
    const [loaded, names] = await Promise.all([store.call('loadVideo', { id: task.id }), keys.names()]);
    return { data: { ...encode(task, names), submission: loaded ? encodeSubmission(loaded.attempt) : null } };
  }

  async function content(request: AdminRequest): Promise<void> {
    const { owner, id } = await taskOf(request);
    return serveContent(request.context, { owner, id }, video);
  }

  async function cancel(request: AdminRequest): Promise<Json> {
    const { owner, id } = await taskOf(request);
    const cancelled = await videos.cancel(owner, id, { abandon: false });
    return { data: encode(cancelled, await keys.names()) };
  }

  async function remove(request: AdminRequest): Promise<Json> {
    const { owner, id } = await taskOf(request);
    await videos.remove(owner, id);
    return { data: { id, object: 'video.deleted', deleted: true } };
  }

  return {
    VideoList: ({ query }) => listOrFile('videos', query, listVideos),
    Video: show,
    VideoSummary: ({ query }) =>
      summarizeVideos(store, {
        owner: readText(query, 'key'),
        model: readText(query, 'model'),
        ...readCreatedSpan(query),
      }),
    VideoCancel: cancel,
    VideoContent: content,
    VideoRemoval: remove,
    DeliveryList: async ({ query }) =>
      deliveries.list(query, { owner: query.get('key') ?? undefined, operator: await keys.names() }),
    DeliveryBody: ({ parameters: { task = '' }, session }) =>
      deliveries.body(task, { mayReadSecrets: session?.role !== 'viewer' }),
    Receivers: ({ query }) => deliveries.receivers(query, {}),
  };
}

/** Encodes how the task was handed to its provider. The request itself is erased once a provider has accepted it. */
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
