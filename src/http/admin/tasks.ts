/** Handlers of the admin API for video tasks and webhooks of all keys. */

import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import type { VideoTask } from '../../records/video-task.ts';
import type { DeliveryState } from '../../store/delivery-log-rows.ts';
import { searchDeliveries } from '../../webhooks/delivery-log.ts';
import { UUID, VIDEO_STATUSES } from '../video-queries.ts';
import { encodePosition, option, position, whole } from './query.ts';
import { encodeDelivery } from './records.ts';
import type { AdminOptions, AdminRequest } from './request.ts';
import type { AdminHandlers } from './routes.ts';

type TaskHandlers = Pick<
  AdminHandlers,
  'VideoList' | 'Video' | 'VideoCancel' | 'VideoRemoval' | 'DeliveryList' | 'DeliveryBody'
>;

const DELIVERY_STATES: readonly DeliveryState[] = ['pending', 'delivered', 'exhausted'];
const PAGE = { least: 1, most: 100, byDefault: 20 };

export function createTaskHandlers({ store, video: { videos, encode: encodeTask } }: AdminOptions): TaskHandlers {
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

  async function cancel(request: AdminRequest): Promise<Json> {
    const { owner, id } = await taskOf(request);
    return { data: encode(await videos.cancel(owner, id, { abandon: false })) };
  }

  async function remove(request: AdminRequest): Promise<Json> {
    const { owner, id } = await taskOf(request);
    await videos.remove(owner, id);
    return { data: { id, object: 'video.deleted', deleted: true } };
  }

  async function listDeliveries({ query }: AdminRequest): Promise<Json> {
    const [host, owner] = ['host', 'key'].map((name) => query.get(name) ?? undefined);
    const { deliveries, next } = await searchDeliveries(store, {
      limit: whole(query, 'limit', PAGE),
      after: position(query),
      state: option(query, 'state', DELIVERY_STATES),
      host,
      owner,
    });
    return {
      data: deliveries.map(({ owner: key, ...view }) => ({ ...encodeDelivery(view), key })),
      next: next ? encodePosition(next) : null,
    };
  }

  async function deliveryBody({ parameters: { task = '' } }: AdminRequest): Promise<Json> {
    const found = await store.call('readDeliveryBody', { taskId: task });
    if (!found) throw new GatewayError('not_found', 'There is no webhook for this task, or its body is erased.');
    return { data: { id: found.id, body: Buffer.from(found.body).toString('utf8') } };
  }

  return {
    VideoList: listVideos,
    Video: async (request) => ({ data: encode(await taskOf(request)) }),
    VideoCancel: cancel,
    VideoRemoval: remove,
    DeliveryList: listDeliveries,
    DeliveryBody: deliveryBody,
  };
}
