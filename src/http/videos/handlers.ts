/** Handlers of the video routes: create, list, get, cancel and delete tasks, their content and their webhook deliveries. */

import type { AdmissionControl } from '../../accounting/admission.ts';
import { systemClock } from '../../core/clock.ts';
import { GatewayError } from '../../core/errors.ts';
import { readBody } from '../../core/json/body.ts';
import type { Json } from '../../core/json/json.ts';
import { isTerminal, type VideoTask } from '../../records/video-task.ts';
import { encodeVideoModels } from '../../videos/model-list.ts';
import { flag } from '../admin/query.ts';
import type { HttpResponse, TextBody } from '../http-response.ts';
import { encodeTotal } from '../list-total.ts';
import type { VideoAction } from '../openapi/videos.ts';
import { createRate } from '../rate.ts';
import { keyOf, type RequestContext } from '../request-context.ts';
import { createReadRetry } from '../store-retry.ts';
import { readFormat } from '../use.ts';
import { serveContent, serveFile, servePicture } from './content.ts';
import { handleCreation } from './creation.ts';
import { encodeDeliveries } from './deliveries.ts';
import type { VideoOptions } from './options.ts';
import { readTaskQuery, UUID } from './queries.ts';

/** Poll interval recommended to clients. */
const POLL_INTERVAL_SECONDS = 5;

/** Parameters in the path of a video route: `id` of the task or name of the picture, `index` of a file. */
export interface VideoMatch {
  id: string;
  index: number;
}

type HandleVideos = (context: RequestContext, match: VideoMatch) => Promise<void>;

export type VideoHandlers = Readonly<Record<VideoAction, HandleVideos>>;

export function createVideoHandlers(options: VideoOptions, admission: AdmissionControl): VideoHandlers {
  const { videos, deliveries, clock = systemClock } = options;
  // Far above normal polling: a client whose poll fails might create a second task.
  const perTask = createRate({ rate: 2, burst: 20, now: clock.monotonic });
  const perKey = createRate({ rate: 50, burst: 100, now: clock.monotonic });
  const withStoreRetry = createReadRetry(clock);

  function checkPollRate(owner: string, id?: string): void {
    const wait = perKey(owner) || (id === undefined ? 0 : perTask(`${owner} ${id}`));
    if (wait === 0) return;
    throw new GatewayError('rate_limit_exceeded', 'Too many polls with this key; poll every few seconds.', {
      retryAfter: wait,
    });
  }

  function send(context: RequestContext, body: Json, { status, headers }: Omit<HttpResponse, 'body'> = {}): void {
    context.send({ status, headers: { 'cache-control': 'no-store', ...headers }, body });
  }

  /** The owner and the id of the task that a request names. */
  function taskOf(context: RequestContext, match: VideoMatch): { owner: string; id: string } {
    return { owner: keyOf(context).id, id: parseTaskId(match.id) };
  }

  async function fileOf(owner: string, query: URLSearchParams): Promise<TextBody> {
    // A start does not need it.
    const { fileOfList } = await import('../list-file.ts');
    return fileOfList('videos', query, async (page) => {
      const { tasks, next } = await videos.list(owner, readTaskQuery(page));
      return { data: tasks.map(options.encode), next };
    });
  }

  async function sendDeliveries(context: RequestContext, { owner, id }: { owner: string; id: string }, status = 200) {
    return send(context, encodeDeliveries(await deliveries.of(owner, id)), { status });
  }

  return {
    async models(context) {
      const { keptBody, sendKept } = await import('../kept-body.ts');
      const catalog = options.models().catalog();
      const list = keptBody(catalog, 'videos', () => encodeVideoModels(catalog.all()));
      return sendKept(context, list, { 'cache-control': 'no-store' });
    },
    async create(context) {
      const { task, headers } = await handleCreation(context, keyOf(context), { ...options, admission });
      const location = `/v1/videos/${task.id}`;
      return send(context, options.encode(task), {
        status: 202,
        headers: { ...pollHeaders(task), ...headers, location },
      });
    },
    async list(context) {
      const owner = keyOf(context).id;
      checkPollRate(owner);
      if (readFormat(context.query) === 'csv') {
        const { text, headers } = await fileOf(owner, context.query);
        return context.send({ headers: { 'cache-control': 'no-store', ...headers }, body: text });
      }
      const query = readTaskQuery(context.query);
      const [{ tasks, next }, total] = await withStoreRetry(() =>
        Promise.all([videos.list(owner, query), flag(context.query, 'total') ? videos.count(owner, query) : undefined]),
      );
      const [first, last] = [tasks[0]?.id, next ?? tasks.at(-1)?.id];
      const ends = { ...(first && { first_id: first }), ...(last && { last_id: last }) };
      const data = tasks.map(options.encode);
      return send(context, { object: 'list', data, ...ends, has_more: next !== undefined, ...encodeTotal(total) });
    },
    async get(context, match) {
      const { owner, id } = taskOf(context, match);
      checkPollRate(owner, id);
      const task = await withStoreRetry(() => videos.get(owner, id));
      return send(context, options.encode(task), { headers: pollHeaders(task) });
    },
    async cancel(context, match) {
      const { owner, id } = taskOf(context, match);
      const task = await videos.cancel(owner, id, { abandon: await readAbandon(context) });
      return send(context, options.encode(task), { headers: pollHeaders(task) });
    },
    async delete(context, match) {
      const { owner, id } = taskOf(context, match);
      await videos.remove(owner, id);
      return send(context, { id, object: 'video.deleted', deleted: true });
    },
    async content(context, match) {
      return serveContent(context, taskOf(context, match), options);
    },
    file: (context, match) => serveFile(context, match, options),
    picture: (context, { id }) => servePicture(context, id, options),
    async deliveries(context, match) {
      const task = taskOf(context, match);
      await videos.get(task.owner, task.id);
      return sendDeliveries(context, task);
    },
    async replay(context, match) {
      const task = taskOf(context, match);
      await videos.get(task.owner, task.id);
      await deliveries.replay(task.owner, task.id);
      return sendDeliveries(context, task, 202);
    },
  };
}

/** A malformed id gets the same response as the id of another owner's task. */
function parseTaskId(text: string): string {
  const id = text.toLowerCase();
  if (UUID.test(id)) return id;
  throw new GatewayError('video_not_found', 'There is no such video task.');
}

function pollHeaders(task: VideoTask): Record<string, string> {
  if (isTerminal(task.status)) return {};
  return { 'retry-after': String(POLL_INTERVAL_SECONDS), 'openai-poll-after-ms': String(POLL_INTERVAL_SECONDS * 1000) };
}

async function readAbandon({ body }: RequestContext): Promise<boolean> {
  if (body.length === 0) return false;
  const { abandon = false } = await readBody(body);
  if (typeof abandon === 'boolean') return abandon;
  throw new GatewayError('invalid_request', 'abandon must be true or false.', { param: 'abandon' });
}
