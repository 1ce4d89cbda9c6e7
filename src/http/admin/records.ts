/** Read handlers of the admin API: audit log, usage reports and webhook deliveries. */

import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { hasPrice } from '../../routing/model-directory.ts';
import { HEARTBEAT_INTERVAL_MS, INSTANCE_TTL_MS } from '../../store/instance.ts';
import type { JobFigures, LiveInstance } from '../../store/operations/figures.ts';
import { readUseQuery, USE_DIMENSIONS } from '../../usage/use-query.ts';
import { createDeliveryReader } from '../deliveries.ts';
import { listOrFile } from '../list-file.ts';
import { encodeTotal, isFirstPage } from '../list-total.ts';
import { readText } from '../requests/query.ts';
import { encodeUse, readFormat } from '../use.ts';
import { iso } from './key-object.ts';
import { unknownKey } from './keys.ts';
import { PAGES, searchText, whole } from './query.ts';
import type { AdminOptions, AdminRequest } from './request.ts';
import type { AdminHandlers } from './routes.ts';

type RecordHandlers = Pick<AdminHandlers, 'Audit' | 'Usage' | 'KeyDeliveries' | 'Delivery' | 'Replay' | 'Replicas'>;

const LARGEST = Number.MAX_SAFE_INTEGER;
/** Gateways and workers that are listed. */
const MAX_REPLICAS = 1000;
/** Silence after which a gateway counts as gone: more than two missed heartbeats. */
const SILENT_AFTER_MS = 2.5 * HEARTBEAT_INTERVAL_MS;

export function createRecordHandlers(options: AdminOptions): RecordHandlers {
  const {
    keys,
    store,
    models,
    video,
    secrets,
    instance,
    clock: { now },
  } = options;
  const reader = createDeliveryReader({ store, secrets, now });

  async function audit(query: URLSearchParams): Promise<Json> {
    const limit = whole(query, 'limit', PAGES.audit);
    const after = whole(query, 'after', { least: 1, most: LARGEST, byDefault: undefined });
    const filter = { subject: readText(query, 'subject'), search: searchText(query, 'search') };
    const [{ entries, next }, total] = await Promise.all([
      store.call('searchAudit', { limit, after, ...filter }),
      isFirstPage(query) ? store.call('countAudit', filter) : undefined,
    ]);
    const data = entries.map(({ at, requestId, ...entry }) => ({
      ...entry,
      at: iso(at),
      request_id: requestId ?? null,
    }));
    return { data, next: next === undefined ? null : String(next), ...encodeTotal(total) };
  }

  async function usage({ query }: AdminRequest): Promise<Json> {
    const asked = readUseQuery(query, now(), USE_DIMENSIONS);
    const names = await keys.names();
    const directory = models();
    const { reportUse } = await import('../../usage/use-report.ts');
    const report = await reportUse(store, asked, { names, hasPrice: (model) => hasPrice(directory, model) });
    return encodeUse(report, readFormat(query));
  }

  async function deliveries({ parameters, query }: AdminRequest): Promise<Json> {
    const names = await keys.names();
    const { hash = '' } = parameters;
    if (!names.has(hash)) throw unknownKey();
    return reader.list(query, { owner: hash, operator: names });
  }

  async function sendAgain({ parameters: { task = '' } }: AdminRequest): Promise<Json> {
    const row = await store.call('readDelivery', { taskId: task });
    if (!row) throw new GatewayError('not_found', 'There is no webhook for this task.');
    await video.deliveries.replay(row.owner, task);
    return reader.get(task, { operator: await keys.names() });
  }

  async function replicas(): Promise<Json> {
    // By the clock of their signs.
    const at = store.now();
    const [instances, jobs] = await Promise.all([
      store.call('liveInstances', { now: at, limit: MAX_REPLICAS }),
      store.call('jobFigures', { now: at }),
    ]);
    const isHere = (id: string) => id === instance;
    const data = instances.map((one) => ({ ...encodeInstance(one, at), answers: isHere(one.id) }));
    return { data, engine: store.engine, jobs: jobs.map(encodeJobs) };
  }

  return {
    Audit: ({ query }) => listOrFile('audit', query, audit),
    Usage: usage,
    KeyDeliveries: deliveries,
    Delivery: async ({ parameters: { task = '' } }) => reader.get(task, { operator: await keys.names() }),
    Replay: sendAgain,
    Replicas: replicas,
  };
}

function encodeInstance({ id, version, startedAt, heartbeatUntil }: LiveInstance, now: number): Record<string, Json> {
  const role = id.includes('/') ? 'worker' : 'gateway';
  const seenAt = heartbeatUntil - INSTANCE_TTL_MS;
  return {
    id,
    role,
    version: version ?? null,
    started_at: iso(startedAt),
    seen_at: iso(seenAt),
    silent: now - seenAt > SILENT_AFTER_MS,
    alive_until: iso(heartbeatUntil),
  };
}

function encodeJobs({ kind, due, oldestDueAt, leased, leaseEndsAt }: JobFigures): Json {
  return { kind, due, oldest_due_at: iso(oldestDueAt), leased, next_lease_ends_at: iso(leaseEndsAt) };
}
