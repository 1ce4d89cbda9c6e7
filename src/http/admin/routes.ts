/** Routes of the admin API, used by its server and by the OpenAPI description. */

import { type TSchema, Type } from 'typebox';
import { readBody } from '../../core/json/body.ts';
import type { Json } from '../../core/json/json.ts';
import type { Protocol } from '../../core/protocol.ts';
import { type ApiOperation, anyObject, JSON_TYPE, type Parameter } from '../openapi/operation.ts';
import { literalStart, matchTemplate, type Route, type RouteDescription } from '../route-table.ts';
import type { AdminContext, AdminRequest } from './request.ts';
import { change, creation, leak, rotation, secretRotation } from './schema.ts';

interface AdminRoute extends Pick<ApiOperation, 'method' | 'path' | 'summary' | 'query'> {
  body?: TSchema;
  /** The body is optional. */
  optional?: true;
  /** 200 if absent. */
  status?: number;
}

const query = (name: string, schema: TSchema, description: string): Parameter => ({ name, schema, description });
const LIMIT = query('limit', Type.Integer({ minimum: 1 }), 'Entries on a page.');
const BEFORE = query('before', Type.Integer(), 'Where the page before ended.');

const KEYS = '/admin/v1/keys';
const KEY = `${KEYS}/{hash}`;
const DELIVERY = '/admin/v1/deliveries/{task}';

/** By name. */
const ROUTES = {
  KeyList: {
    method: 'GET',
    path: KEYS,
    summary: 'List keys',
    query: [
      LIMIT,
      query('offset', Type.Integer({ minimum: 0 }), 'How many to leave out.'),
      query('include_disabled', Type.Boolean(), 'Show those too that are disabled or revoked.'),
    ],
  },
  KeyCreation: { method: 'POST', path: KEYS, summary: 'Make a key', body: creation, status: 201 },
  KeyLeak: { method: 'POST', path: `${KEYS}/revoke`, summary: 'Revoke keys that were seen', body: leak },
  Key: { method: 'GET', path: KEY, summary: 'Get a key' },
  KeyChange: { method: 'PATCH', path: KEY, summary: 'Change a key', body: change },
  KeyRemoval: { method: 'DELETE', path: KEY, summary: 'Revoke a key' },
  KeyRotation: {
    method: 'POST',
    path: `${KEY}/rotate`,
    summary: 'Give a key another secret',
    body: rotation,
    optional: true,
  },
  WebhookSecret: { method: 'GET', path: `${KEY}/webhook-secret`, summary: 'Show what signs its webhooks' },
  SecretRotation: {
    method: 'POST',
    path: `${KEY}/webhook-secret/rotate`,
    summary: 'Give its webhooks another secret',
    body: secretRotation,
    optional: true,
  },
  KeyDeliveries: { method: 'GET', path: `${KEY}/deliveries`, summary: 'List its webhooks', query: [LIMIT, BEFORE] },
  Audit: {
    method: 'GET',
    path: '/admin/v1/audit',
    summary: 'List what was changed, and by whom',
    query: [LIMIT, BEFORE, query('subject', Type.String(), 'What was changed.')],
  },
  Usage: {
    method: 'GET',
    path: '/admin/v1/usage',
    summary: 'Usage of keys',
    query: ['from', 'to', 'by', 'key'].map((name) => query(name, Type.String(), 'As on /v1/usage.')),
  },
  Delivery: { method: 'GET', path: DELIVERY, summary: 'See what became of a webhook, in all details' },
  Replay: { method: 'POST', path: `${DELIVERY}/replay`, summary: 'Send a webhook once more', status: 202 },
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

export function adminRoutes(protocol: Protocol, handlers: AdminHandlers): Route<AdminContext>[] {
  return Object.entries<AdminRoute>(ROUTES).map(([name, route]): Route<AdminContext, Record<string, string>> => {
    const { method, path, status = 200 } = route;
    return {
      name: `admin.${name}`,
      method,
      path: literalStart(path),
      match: matchTemplate(path),
      templates: [{ path }],
      protocol,
      access: 'admin',
      changes: method !== 'GET',
      limited: false,
      hasOwnQuery: true,
      describe: () => describe(name, route),
      async handle(context, parameters) {
        const body = await handlers[name as AdminRouteName](await readRequest(context, parameters));
        context.log.info({ requestId: context.requestId, method, path, status }, 'administered');
        return context.send({ status, headers: { 'cache-control': 'no-store' }, body });
      },
    };
  });
}

async function readRequest(
  { query, body, requestId }: AdminContext,
  parameters: Record<string, string>,
): Promise<AdminRequest> {
  return {
    parameters,
    query,
    body: body.length > 0 ? await readBody(body) : {},
    author: { actor: 'admin', requestId },
  };
}

function describe(
  name: string,
  { summary, query: parameters, body, optional, status = 200 }: AdminRoute,
): RouteDescription {
  return {
    id: `admin_${name}`,
    tag: 'admin',
    summary,
    ...(parameters && { query: parameters }),
    ...(body && { body: { types: [JSON_TYPE], schema: { name: `Admin${name}`, schema: body }, optional } }),
    response: { status, description: 'As it then is.', type: JSON_TYPE, schema: anyObject },
  };
}
