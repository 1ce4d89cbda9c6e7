/** Routes of the admin API, used by its server and by the OpenAPI description. */

import { readBody } from '../../core/json/body.ts';
import type { Json } from '../../core/json/json.ts';
import type { Protocol } from '../../core/protocol.ts';
import { sendCompressed } from '../content-coding.ts';
import { CREATED_PARAMETERS } from '../created-span.ts';
import { DELIVERY_PARAMETERS, DELIVERY_RESPONSES } from '../deliveries.ts';
import { TextBody } from '../http-response.ts';
import * as keySchemas from '../key-schema.ts';
import { JSON_TYPE } from '../openapi/operation.ts';
import { FILM, OPERATORS_VIDEOS } from '../openapi/videos.ts';
import type { HttpContext } from '../request-context.ts';
import { captureDetail } from '../requests/capture-schema.ts';
import { LIST_PARAMETERS, SESSION_PARAMETERS, SUMMARY_PARAMETERS } from '../requests/query.ts';
import { requestDetail, requestList, requestSessions, requestSummary } from '../requests/schema.ts';
import { literalStart, matchTemplate, type Route, type RouteDescription } from '../route-table.ts';
import { USE_PARAMETERS, use } from '../use.ts';
import { OPERATION_ROUTES } from './operation-routes.ts';
import type { AdminRequest } from './request.ts';
import type { AdminRoute } from './route.ts';
import * as schemas from './schema.ts';

const KEYS = '/admin/v1/keys';
const KEY = `${KEYS}/{hash}`;
const TAGS = '/admin/v1/tags';
const TAG = `${TAGS}/{tag}`;
const VIDEO = '/admin/v1/videos/{id}';
const DELIVERY = '/admin/v1/deliveries/{task}';

/** By name. */
const ROUTES = {
  KeyList: {
    method: 'GET',
    path: KEYS,
    summary: 'List keys',
    query: schemas.KEY_PARAMETERS,
    compresses: true,
    response: keySchemas.keyList,
  },
  KeyCreation: {
    method: 'POST',
    path: KEYS,
    summary: 'Make a key',
    body: schemas.creation,
    status: 201,
    response: keySchemas.createdKey,
  },
  KeyBulk: {
    method: 'POST',
    path: `${KEYS}/bulk`,
    summary: 'Make keys, all or none',
    body: schemas.bulk,
    status: 201,
    response: keySchemas.createdKeys,
  },
  KeyLeak: {
    method: 'POST',
    path: `${KEYS}/revoke`,
    summary: 'Revoke keys that were seen',
    body: schemas.leak,
    response: keySchemas.revokedKeys,
  },
  Key: { method: 'GET', path: KEY, summary: 'Get a key', response: keySchemas.oneKey },
  KeyChange: { method: 'PATCH', path: KEY, summary: 'Change a key', body: schemas.change, response: keySchemas.oneKey },
  KeyRemoval: { method: 'DELETE', path: KEY, summary: 'Revoke a key', response: schemas.deleted },
  KeyRotation: {
    method: 'POST',
    path: `${KEY}/rotate`,
    summary: 'Give a key another secret',
    body: schemas.rotation,
    optional: true,
    response: keySchemas.rotatedKey,
  },
  WebhookSecret: {
    method: 'GET',
    path: `${KEY}/webhook-secret`,
    summary: 'See what signs webhooks',
    reveals: true,
    response: keySchemas.webhookSecrets,
  },
  SecretRotation: {
    method: 'POST',
    path: `${KEY}/webhook-secret/rotate`,
    summary: 'Give its webhooks another secret',
    body: schemas.secretRotation,
    optional: true,
    response: keySchemas.rotatedWebhookSecret,
  },
  KeyDeliveries: {
    method: 'GET',
    path: `${KEY}/deliveries`,
    summary: 'List its webhooks',
    query: DELIVERY_PARAMETERS,
    response: DELIVERY_RESPONSES.list,
  },
  TagList: {
    method: 'GET',
    path: TAGS,
    summary: 'List tags of keys, and those with limits or budgets, with their spending',
    query: schemas.TAG_PARAMETERS,
    response: keySchemas.tagList,
  },
  Tag: { method: 'GET', path: TAG, summary: 'Get a tag, written as name=value', response: keySchemas.oneTag },
  TagChange: {
    method: 'PUT',
    path: TAG,
    summary: 'Replace limits and budgets of a tag',
    body: schemas.allotment,
    response: keySchemas.oneTag,
  },
  TagUpdate: {
    method: 'PATCH',
    path: TAG,
    summary: 'Change limits and budgets of a tag; null takes one back',
    body: schemas.allotmentChange,
    response: keySchemas.oneTag,
  },
  TagRemoval: {
    method: 'DELETE',
    path: TAG,
    summary: 'Take limits and budgets of a tag back',
    response: schemas.deleted,
  },
  Usage: {
    method: 'GET',
    path: '/admin/v1/usage',
    summary: 'Usage of keys',
    query: [schemas.KEY_FILTER, ...USE_PARAMETERS],
    response: use,
  },
  VideoList: {
    method: 'GET',
    path: '/admin/v1/videos',
    summary: 'List video tasks of all keys',
    query: schemas.VIDEO_PARAMETERS,
    response: OPERATORS_VIDEOS.list,
  },
  VideoSummary: {
    method: 'GET',
    path: '/admin/v1/videos/summary',
    summary: 'Count video tasks by state and by model, with their videos and cost',
    query: [schemas.VIDEO_MODEL, schemas.KEY_FILTER, ...CREATED_PARAMETERS],
    response: schemas.videoSummary,
  },
  Video: { method: 'GET', path: VIDEO, summary: 'Get a video task', response: OPERATORS_VIDEOS.detail },
  VideoCancel: {
    method: 'POST',
    path: `${VIDEO}/cancel`,
    summary: 'Cancel a video task',
    response: OPERATORS_VIDEOS.one,
  },
  VideoContent: {
    method: 'GET',
    path: `${VIDEO}/content`,
    summary: 'Download a video of any key, or a range of it',
    query: [schemas.VIDEO_INDEX],
    response: 'video',
  },
  VideoRemoval: {
    method: 'DELETE',
    path: VIDEO,
    summary: 'Delete a finished video task and its files',
    response: OPERATORS_VIDEOS.deleted,
  },
  DeliveryList: {
    method: 'GET',
    path: '/admin/v1/deliveries',
    summary: 'List webhooks of all keys',
    query: [...DELIVERY_PARAMETERS, schemas.KEY_FILTER],
    response: DELIVERY_RESPONSES.list,
  },
  Receivers: {
    method: 'GET',
    path: '/admin/v1/deliveries/receivers',
    summary: 'List receivers of webhooks, and how the newest ones to them ended',
    query: CREATED_PARAMETERS,
    response: DELIVERY_RESPONSES.receivers,
  },
  DeliveryBody: {
    method: 'GET',
    path: `${DELIVERY}/body`,
    summary: 'Show what a webhook sends, with headers that are signed now',
    response: DELIVERY_RESPONSES.body,
  },
  RequestList: {
    method: 'GET',
    path: '/admin/v1/requests',
    summary: 'List requests, the one that ended last first',
    query: [schemas.KEY_FILTER, ...LIST_PARAMETERS],
    response: requestList,
  },
  RequestSummary: {
    method: 'GET',
    path: '/admin/v1/requests/summary',
    summary: 'Rates, failures, cost and times of requests, by default of the last hour',
    query: [schemas.KEY_FILTER, ...SUMMARY_PARAMETERS],
    response: requestSummary,
  },
  RequestSessions: {
    method: 'GET',
    path: '/admin/v1/requests/sessions',
    summary: 'List conversations with the sums of their requests, by default of the last day',
    query: [schemas.KEY_FILTER, ...SESSION_PARAMETERS],
    response: requestSessions,
  },
  Request: {
    method: 'GET',
    path: '/admin/v1/requests/{id}',
    summary: 'See a request, and how it was routed',
    response: requestDetail,
  },
  Capture: {
    method: 'GET',
    path: '/admin/v1/captures/{id}',
    summary: 'See what a request of this session was on both sides of the gateway',
    response: captureDetail,
  },
  Delivery: {
    method: 'GET',
    path: DELIVERY,
    summary: 'See what became of a webhook, in all details',
    response: DELIVERY_RESPONSES.one,
  },
  Replay: {
    method: 'POST',
    path: `${DELIVERY}/replay`,
    summary: 'Send a webhook once more',
    status: 202,
    response: DELIVERY_RESPONSES.one,
  },
  ...OPERATION_ROUTES,
} satisfies Record<string, AdminRoute>;

type AdminRouteName = keyof typeof ROUTES;

export type AdminHandlers = Readonly<Record<AdminRouteName, (request: AdminRequest) => Promise<Json>>>;

/** Routes in the form of the OpenAPI description. */
export const adminDescriptions = Object.entries<AdminRoute>(ROUTES).map(([name, route]) => ({
  method: route.method,
  templates: [{ path: route.path }],
  access: 'admin' as const,
  describe: () => describe(name, route),
}));

/** The handlers are loaded with the first request. */
export function adminRoutes(protocol: Protocol, loadHandlers: () => Promise<AdminHandlers>): Route<HttpContext>[] {
  return Object.entries<AdminRoute>(ROUTES).map(([name, route]): Route<HttpContext, Record<string, string>> => {
    const { method, path, status = 200 } = route;
    return {
      name: `admin.${name}`,
      method,
      path: literalStart(path),
      match: matchTemplate(path),
      templates: [{ path }],
      protocol,
      access: 'admin',
      changes: method !== 'GET' && !route.readsOnly,
      ...(route.reveals && { reveals: true }),
      limited: false,
      hasOwnQuery: true,
      describe: () => describe(name, route),
      async handle(context, parameters) {
        const handlers = await loadHandlers();
        const body = await handlers[name as AdminRouteName](await readRequest(context, parameters));
        context.log.info({ requestId: context.requestId, method, path, status }, 'administered');
        if (body === undefined) return;
        const isText = body instanceof TextBody;
        const headers = { 'cache-control': 'no-store', ...(isText && body.headers) };
        if (route.compresses && !isText) return sendCompressed(context, headers, body);
        return context.send({ status, headers, body: isText ? body.text : body });
      },
    };
  });
}

async function readRequest(context: HttpContext, parameters: Record<string, string>): Promise<AdminRequest> {
  const { query, body, requestId, session } = context;
  const author: AdminRequest['author'] = { actor: 'admin', requestId };
  // As plain numbers: those that a double cannot represent would be objects, also for the check of records.
  const given = body.length > 0 ? JSON.parse(JSON.stringify(await readBody(body))) : {};
  return { parameters, query, body: given, author, session, context };
}

function describe(
  name: string,
  { summary, query: parameters, body, optional, status = 200, response }: AdminRoute,
): RouteDescription {
  return {
    id: `admin_${name}`,
    tag: 'admin',
    summary,
    ...(parameters && { query: parameters }),
    ...(body && { body: { types: [JSON_TYPE], schema: { name: `Admin${name}`, schema: body }, optional } }),
    response:
      response === 'video' ? FILM : { status, description: 'As it then is.', type: JSON_TYPE, schema: response },
  };
}
