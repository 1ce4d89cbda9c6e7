/** Video tasks over HTTP: made, watched, cancelled, deleted, and their bytes. */

import type { FastifyReply } from 'fastify';
import type { AdmissionControl } from '../accounting/admission.ts';
import { GatewayError } from '../core/errors.ts';
import { readBody } from '../core/json/body.ts';
import type { Json } from '../core/json/json.ts';
import type { Key } from '../keys/store.ts';
import { isTerminal, type VideoTask } from '../records/video-task.ts';
import { encodeVideoModels } from '../videos/model-list.ts';
import type { RequestContext } from './context.ts';
import { createRate } from './rate.ts';
import { createPatience } from './store-retry.ts';
import { answerContent, answerFile } from './video-content.ts';
import { answerCreation } from './video-creation.ts';
import { encodeDeliveries } from './video-deliveries.ts';
import type { VideoOptions } from './video-options.ts';
import { readTaskQuery, UUID } from './video-queries.ts';
import type { VideoRoute } from './video-routes.ts';

/** Seconds between two looks at a task: what we ask pollers to keep to. */
const POLL_INTERVAL_SECONDS = 5;

export type AnswerVideos = (exchange: RequestContext, route: VideoRoute, key: Key | undefined) => Promise<FastifyReply>;

/** `key` is there for every route but the public ones. */
export function createVideoAnswers(options: VideoOptions, accounts: AdmissionControl): AnswerVideos {
  const { videos, deliveries } = options;
  // Far above what pollers do: a client that is refused a look at its task may order a second one.
  const perTask = createRate({ rate: 2, burst: 20 });
  const perKey = createRate({ rate: 50, burst: 100 });
  const withStoreRetry = createPatience(options.storeTimeoutMs);

  function checkPollRate(owner: string, id?: string): void {
    const wait = perKey(owner) || (id === undefined ? 0 : perTask(`${owner} ${id}`));
    if (wait === 0) return;
    throw new GatewayError('rate_limit_exceeded', 'This key looks too often; a look every few seconds is enough.', {
      retryAfter: wait,
    });
  }

  function send({ reply, common }: RequestContext, body: Json, headers: Record<string, string> = {}): FastifyReply {
    return reply.headers({ ...common, 'cache-control': 'no-store', ...headers }).send(body);
  }

  async function list(exchange: RequestContext, owner: string): Promise<FastifyReply> {
    checkPollRate(owner);
    const query = readTaskQuery(exchange.query);
    const { tasks, more } = await withStoreRetry(() => videos.list(owner, query));
    const [first, last] = [tasks[0], tasks.at(-1)];
    const ends = first && last ? { first_id: first.id, last_id: last.id } : {};
    return send(exchange, { object: 'list', data: tasks.map(options.encode), ...ends, has_more: more });
  }

  async function get(exchange: RequestContext, owner: string, id: string): Promise<FastifyReply> {
    checkPollRate(owner, id);
    const task = await withStoreRetry(() => videos.get(owner, id));
    return send(exchange, options.encode(task), pollHeaders(task));
  }

  async function cancel(exchange: RequestContext, owner: string, id: string): Promise<FastifyReply> {
    const task = await videos.cancel(owner, id, { abandon: await readAbandon(exchange) });
    return send(exchange, options.encode(task), pollHeaders(task));
  }

  async function remove(exchange: RequestContext, owner: string, id: string): Promise<FastifyReply> {
    await videos.remove(owner, id);
    return send(exchange, { id, object: 'video.deleted', deleted: true });
  }

  return async (exchange, route, key) => {
    if (route.action === 'models') return send(exchange, encodeVideoModels(options.models().catalog().all()));
    if (route.action === 'file') return answerFile(exchange, route, options);
    if (!key) throw new GatewayError('invalid_api_key', 'An API key is required.');
    if (route.action === 'list') return list(exchange, key.id);
    if (route.action === 'create') {
      const { task, headers } = await answerCreation(exchange, key, { ...options, accounts });
      const location = `/v1/videos/${task.id}`;
      exchange.reply.code(202);
      return send(exchange, options.encode(task), { ...pollHeaders(task), ...headers, location });
    }
    const id = parseTaskId(route.id);
    switch (route.action) {
      case 'get':
        return get(exchange, key.id, id);
      case 'cancel':
        return cancel(exchange, key.id, id);
      case 'delete':
        return remove(exchange, key.id, id);
      case 'content':
        return answerContent(exchange, { owner: key.id, id }, options);
      case 'deliveries':
        await videos.get(key.id, id);
        return send(exchange, encodeDeliveries(await deliveries.of(key.id, id)));
      case 'replay':
        await videos.get(key.id, id);
        await deliveries.replay(key.id, id);
        exchange.reply.code(202);
        return send(exchange, encodeDeliveries(await deliveries.of(key.id, id)));
    }
  };
}

/** What is no id at all is answered like an id of somebody else. */
function parseTaskId(text: string): string {
  const id = text.toLowerCase();
  if (UUID.test(id)) return id;
  throw new GatewayError('video_not_found', 'There is no such video task.');
}

function pollHeaders(task: VideoTask): Record<string, string> {
  if (isTerminal(task.status)) return {};
  return { 'retry-after': String(POLL_INTERVAL_SECONDS), 'openai-poll-after-ms': String(POLL_INTERVAL_SECONDS * 1000) };
}

async function readAbandon({ request }: RequestContext): Promise<boolean> {
  if (!Buffer.isBuffer(request.body) || request.body.length === 0) return false;
  const { abandon = false } = await readBody(request.body);
  if (typeof abandon === 'boolean') return abandon;
  throw new GatewayError('invalid_request', 'abandon must be true or false.', { param: 'abandon' });
}
