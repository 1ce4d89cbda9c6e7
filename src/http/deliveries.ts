/** Webhooks of a key or of all keys: pages of them, the bytes sent, and the outcomes by receiver. */

import type { TSchema } from 'typebox';
import * as Type from 'typebox';
import { GatewayError } from '../core/errors.ts';
import type { Json } from '../core/json/json.ts';
import type { DeliveryOutcome, DeliveryState } from '../store/delivery-log-rows.ts';
import type { Store } from '../store/store.ts';
import {
  type DeliveryView,
  deliveryForOperator,
  type OwnedDeliveryView,
  searchDeliveries,
} from '../webhooks/delivery-log.ts';
import type { WebhookSecrets } from '../webhooks/secrets.ts';
import { iso } from './admin/key-object.ts';
import { encodePosition, option, position, searchText, whole } from './admin/query.ts';
import { CREATED_PARAMETERS, readCreatedSpan } from './created-span.ts';
import type { TextBody } from './http-response.ts';
import { countedList, encodeTotal, isFirstPage } from './list-total.ts';
import { FORMAT, type Parameter } from './openapi/operation.ts';
import type { KeyNames } from './requests/object.ts';
import { readFormat } from './use.ts';

export interface DeliveryReaderOptions {
  store: Pick<Store, 'call'>;
  secrets: Pick<WebhookSecrets, 'signer'>;
  /** Unix milliseconds. */
  now(): number;
}

/** Webhooks that may be read: `owner` is the id of a key, all keys if absent. */
export interface DeliveryScope {
  /** Whether secrets that sign them may be read, too. */
  mayReadSecrets?: boolean;
  owner?: string | undefined;
  /** Names of all keys, for operators only: these see resolved addresses, too, and the keys of the webhooks. */
  operator?: KeyNames;
}

const STATES: readonly DeliveryState[] = ['pending', 'delivered', 'exhausted'];
const OUTCOMES = [
  'ack',
  'http_status',
  'timeout',
  'dns',
  'connect',
  'tls',
  'protocol',
  'blocked',
] as const satisfies readonly DeliveryOutcome[];
const PAGE = { least: 1, most: 100, byDefault: 20 };
/** Headers for callers that may read the secret: with them, others could send a webhook under another id, or guess the secret. */
const SIGNATURES = ['X-Service-Signature', 'webhook-signature'];
/** Webhooks that the figures of receivers are made of. */
const FIGURES_DEPTH = 5000;

const parameter = (name: string, schema: TSchema, description: string): Parameter => ({ name, schema, description });

export const DELIVERY_PARAMETERS: readonly Parameter[] = [
  parameter('limit', Type.Integer({ minimum: 1, maximum: PAGE.most }), 'Entries on a page.'),
  parameter('after', Type.String(), 'The `next` of the page before.'),
  parameter('state', Type.String(), 'Only those that are pending, delivered or exhausted.'),
  parameter('host', Type.String(), 'Only those to a host.'),
  parameter(
    'outcome',
    Type.Unsafe<string>({ type: 'string', enum: [...OUTCOMES] }),
    'Only those whose last attempt ended so.',
  ),
  parameter('search', Type.String(), 'Only those with this text in the id of the task, the event, or the host.'),
  ...CREATED_PARAMETERS,
  FORMAT,
];

const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);
const moment = Type.String({ format: 'date-time' });
const count = Type.Integer({ minimum: 0 });

const attempt = {
  n: Type.Integer({ minimum: 1 }),
  trigger: Type.Unsafe<string>({ type: 'string', enum: ['schedule', 'replay'] }),
  started_at: moment,
  ended_at: moment,
  outcome: Type.Unsafe<string>({ type: 'string', enum: [...OUTCOMES] }),
  status: Type.Optional(Type.Integer()),
  next_attempt_at: nullable(moment),
};
const operatorsAttempt = {
  ...attempt,
  address: Type.Optional(Type.String({ description: 'IP address that was connected to.' })),
  retry_after_ms: Type.Optional(Type.Number()),
};
const delivery = {
  id: Type.String({ description: 'The same for each attempt.' }),
  task_id: Type.String(),
  url: Type.String(),
  state: Type.Unsafe<string>({ type: 'string', enum: [...STATES] }),
  created_at: moment,
  settled_at: nullable(moment),
  next_attempt_at: nullable(moment),
};
const ownDelivery = Type.Object({ ...delivery, attempts: Type.Array(Type.Object(attempt)) });
const operatorsDelivery = Type.Object({
  ...delivery,
  attempts: Type.Array(Type.Object(operatorsAttempt)),
  key: Type.String({ description: 'Hash of the key.' }),
  key_name: nullable(Type.String()),
});

/** Responses about webhooks, to the holder of a key and to operators. */
export const DELIVERY_RESPONSES = {
  ownList: countedList(ownDelivery),
  own: Type.Object({ data: ownDelivery }),
  list: countedList(operatorsDelivery),
  one: Type.Object({ data: operatorsDelivery }),
  body: Type.Object({
    data: Type.Object({
      id: Type.String(),
      body: Type.String(),
      headers: nullable(
        Type.Record(Type.String(), Type.String(), {
          description: 'Signed now. Without signatures for viewers and read-only keys.',
        }),
      ),
    }),
  }),
  receivers: Type.Object({
    data: Type.Array(
      Type.Object({
        host: Type.String({ description: 'With its port, if it has one.' }),
        delivered: count,
        pending: count,
        exhausted: count,
        last_delivered_at: nullable(moment),
        failing_since: nullable(moment),
      }),
    ),
    complete: Type.Boolean({ description: 'False where the counts are of the newest webhooks only.' }),
  }),
};

export function createDeliveryReader({ store, secrets, now }: DeliveryReaderOptions) {
  /** Throws `not_found` for the webhook of another key, too. */
  async function find(taskId: string, { owner }: Pick<DeliveryScope, 'owner'>) {
    const view = await deliveryForOperator(store, taskId);
    if (view && (owner === undefined || view.owner === owner)) return view;
    throw new GatewayError('not_found', 'There is no webhook for this task.');
  }

  function encode({ owner, ...view }: OwnedDeliveryView, { operator }: DeliveryScope): Json {
    const encoded = encodeDelivery(view);
    if (!operator) return withoutAddresses(encoded);
    return { ...encoded, key: owner, key_name: operator.get(owner) ?? null };
  }

  async function pageOf(query: URLSearchParams, scope: DeliveryScope): Promise<Json> {
    const filter = {
      state: option(query, 'state', STATES),
      host: query.get('host') ?? undefined,
      outcome: option(query, 'outcome', OUTCOMES),
      search: searchText(query, 'search'),
      owner: scope.owner,
      ...readCreatedSpan(query),
    };
    const page = { limit: whole(query, 'limit', PAGE), after: position(query) };
    const [{ deliveries, next }, total] = await Promise.all([
      searchDeliveries(store, { ...page, ...filter }),
      isFirstPage(query) ? store.call('countDeliveries', filter) : undefined,
    ]);
    const data = deliveries.map((one) => encode(one, scope));
    return { data, next: next ? encodePosition(next) : null, ...encodeTotal(total) };
  }

  return {
    async list(query: URLSearchParams, scope: DeliveryScope): Promise<Json | TextBody> {
      if (readFormat(query) === 'json') return pageOf(query, scope);
      // A start does not need it.
      const { fileOfList } = await import('./list-file.ts');
      return fileOfList('webhooks', query, (page) => pageOf(page, scope));
    },

    async get(taskId: string, scope: DeliveryScope): Promise<Json> {
      return { data: encode(await find(taskId, scope), scope) };
    },

    /** Body, and headers that are made now: with the current secrets, and the time of the last attempt. Throws `not_found`. */
    async body(taskId: string, scope: Pick<DeliveryScope, 'owner' | 'mayReadSecrets'>): Promise<Json> {
      const [{ owner, attempts }, found] = await Promise.all([
        find(taskId, scope),
        store.call('readDeliveryBody', { taskId }),
      ]);
      if (!found) throw new GatewayError('not_found', 'The body of this webhook is erased.');
      const { id, body } = found;
      const sign = await secrets.signer(owner);
      const sentAt = attempts.at(-1)?.startedAt ?? now();
      const signed = sign?.({ id, body, sentAt });
      const headers = scope.mayReadSecrets ? signed : signed && withoutSignatures(signed);
      return { data: { id, body: Buffer.from(body).toString('utf8'), headers: headers ?? null } };
    },

    async receivers(query: URLSearchParams, { owner }: Pick<DeliveryScope, 'owner'>): Promise<Json> {
      const figures = await store.call('receiverFigures', { owner, depth: FIGURES_DEPTH, ...readCreatedSpan(query) });
      const data = figures.receivers.map(({ lastDeliveredAt, failingSince, ...counts }) => ({
        ...counts,
        last_delivered_at: iso(lastDeliveredAt),
        failing_since: iso(failingSince),
      }));
      return { data, complete: figures.isComplete };
    },
  };
}

function withoutSignatures(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !SIGNATURES.includes(name)));
}

/** Includes resolved addresses, which only the operator may see. */
function encodeDelivery({ taskId, createdAt, settledAt, nextDueAt, attempts, ...view }: DeliveryView): Json {
  return {
    ...view,
    task_id: taskId,
    created_at: iso(createdAt),
    settled_at: iso(settledAt),
    next_attempt_at: iso(nextDueAt),
    attempts: attempts.map(({ startedAt, endedAt, nextDueAt: next, retryAfter, ...attempt }) => ({
      ...attempt,
      started_at: iso(startedAt),
      ended_at: iso(endedAt),
      next_attempt_at: iso(next),
      ...(retryAfter !== undefined && { retry_after_ms: retryAfter }),
    })),
  };
}

function withoutAddresses({ attempts, ...delivery }: Json): Json {
  return {
    ...delivery,
    attempts: attempts.map(({ address: _address, retry_after_ms: _retryAfter, ...attempt }: Json) => attempt),
  };
}
