/** Routes of a key about its own requests, sessions and saved views, below `/v1/self`. */

import type { TSchema } from 'typebox';
import * as Type from 'typebox';
import { matchesGlob } from '../../core/glob.ts';
import { readBody } from '../../core/json/body.ts';
import type { Json } from '../../core/json/json.ts';
import type { Protocol } from '../../core/protocol.ts';
import type { Key } from '../../keys/store.ts';
import { hasPrice } from '../../routing/model-directory.ts';
import { readUseQuery, USE_DIMENSIONS } from '../../usage/use-query.ts';
import { deleted, oneView, priceChanges, videoSummary, viewBody, viewList } from '../admin/schema.ts';
import { type Captures, readCapture } from '../captures.ts';
import { CREATED_PARAMETERS, readCreatedSpan } from '../created-span.ts';
import {
  createDeliveryReader,
  DELIVERY_PARAMETERS,
  DELIVERY_RESPONSES,
  type DeliveryReaderOptions,
} from '../deliveries.ts';
import { TextBody } from '../http-response.ts';
import { JSON_TYPE } from '../openapi/operation.ts';
import type { ReadLimit } from '../rate.ts';
import { keyOf, type RequestContext } from '../request-context.ts';
import { captureDetail } from '../requests/capture-schema.ts';
import { LIST_PARAMETERS, readText, SESSION_PARAMETERS, SUMMARY_PARAMETERS } from '../requests/query.ts';
import { createRequestReader, type RequestReaderOptions, type RequestScope } from '../requests/reader.ts';
import { requestDetail, requestList, requestSessions, requestSummary } from '../requests/schema.ts';
import { literalStart, matchTemplate, type Route, type RouteDescription } from '../route-table.ts';
import type { SavedViews } from '../saved-views.ts';
import type { SessionList } from '../sessions/list.ts';
import { endedSession, OPEN_SESSION_PARAMETERS, sessionList } from '../sessions/schema.ts';
import type { BrowserSession } from '../sessions/sessions.ts';
import { encodeUse, readFormat, USE_PARAMETERS, use } from '../use.ts';

interface SelfRoute {
  name: string;
  /** GET if absent; others change something. */
  method?: 'PUT' | 'DELETE';
  /** Keys that may only read call it, too. */
  isForReaders?: boolean;
  /** Reads many rows: few such requests of a key run at once. */
  scans?: true;
  path: string;
  description: Pick<RouteDescription, 'summary' | 'query'> & { schema: RouteDescription['response']['schema'] };
  body?: { name: string; schema: TSchema };
  read(query: URLSearchParams, scope: RequestScope, context: SelfContext): Promise<Json>;
}

interface SelfContext {
  key: Key;
  /** Parameter of the path; empty where it has none. */
  id: string;
  /** Empty object where the route takes none. */
  body: Json;
  session: BrowserSession | undefined;
  requestId: string;
}

export interface SelfRouteOptions extends RequestReaderOptions, Pick<DeliveryReaderOptions, 'secrets'> {
  captures: Captures | undefined;
  limitReads: ReadLimit;
}

const DELIVERIES = '/v1/self/deliveries';
const REQUESTS = '/v1/self/requests';
const SESSIONS = '/v1/self/sessions';
const VIEWS = '/v1/self/views';
const OWN_DIMENSIONS = USE_DIMENSIONS.filter((name) => name !== 'key');

export function selfRoutes(protocol: Protocol, options: SelfRouteOptions): Route<RequestContext>[] {
  const reader = createRequestReader(options);
  const deliveries = createDeliveryReader({ ...options, now: options.clock.now });
  // A start does not need these.
  let sessions: Promise<SessionList> | undefined;
  const loadSessions = async () =>
    (await import('../sessions/list.ts')).createSessionList({ store: options.store, now: options.clock.now });
  const openSessions = () => (sessions ??= loadSessions());
  let views: Promise<SavedViews> | undefined;
  const loadViews = async () =>
    (await import('../saved-views.ts')).createSavedViews({ store: options.store, now: options.clock.now });
  const savedViews = () => (views ??= loadViews());
  const own = ({ keyId = '' }: RequestScope) => ({ owner: keyId });
  const routes: SelfRoute[] = [
    {
      name: 'requests',
      scans: true,
      path: REQUESTS,
      description: { summary: 'List own requests', query: LIST_PARAMETERS, schema: requestList },
      read: reader.list,
    },
    {
      name: 'use',
      scans: true,
      path: '/v1/self/usage',
      description: { summary: 'Own use and cost', query: USE_PARAMETERS, schema: use },
      async read(query, { keyId = '', names }) {
        const asked = readUseQuery(query, options.clock.now(), OWN_DIMENSIONS);
        const directory = options.models();
        const own = { ...asked, filter: { ...asked.filter, keyId } };
        const { reportUse } = await import('../../usage/use-report.ts');
        const report = await reportUse(options.store, own, { names, hasPrice: (model) => hasPrice(directory, model) });
        return encodeUse(report, readFormat(query));
      },
    },
    {
      name: 'requests-summary',
      scans: true,
      path: `${REQUESTS}/summary`,
      description: {
        summary: 'Rates, failures, cost and times of own requests',
        query: SUMMARY_PARAMETERS,
        schema: requestSummary,
      },
      read: reader.summary,
    },
    {
      name: 'requests-sessions',
      scans: true,
      path: `${REQUESTS}/sessions`,
      description: {
        summary: 'List own conversations with the sums of their requests',
        query: SESSION_PARAMETERS,
        schema: requestSessions,
      },
      read: reader.sessions,
    },
    {
      name: 'request',
      path: `${REQUESTS}/{id}`,
      description: { summary: 'See an own request, and how it was routed', schema: requestDetail },
      read: (_query, scope, { id }) => reader.get(id, scope),
    },
    {
      name: 'capture',
      path: '/v1/self/captures/{id}',
      description: {
        summary: 'See what a request of this session was on both sides of the gateway',
        schema: captureDetail,
      },
      read: (_query, _scope, { id, session }) => readCapture(options.captures, id, session),
    },
    {
      name: 'videos-summary',
      scans: true,
      path: '/v1/self/videos/summary',
      description: {
        summary: 'Count own video tasks by state and by model, with their videos and cost',
        query: [{ name: 'model', schema: Type.String(), description: 'Only those of a model.' }, ...CREATED_PARAMETERS],
        schema: videoSummary,
      },
      async read(query, { keyId }) {
        const { summarizeVideos } = await import('../videos/summary.ts');
        return summarizeVideos(options.store, {
          owner: keyId,
          model: readText(query, 'model'),
          ...readCreatedSpan(query),
        });
      },
    },
    {
      name: 'price-changes',
      path: '/v1/self/models/price-changes',
      description: {
        summary: 'List the last change of the prices of models that the key may use',
        schema: priceChanges,
      },
      async read(_query, _scope, { key }) {
        const { models } = key.settings;
        const { readPriceChanges } = await import('../price-changes.ts');
        return readPriceChanges(
          options.store,
          (model) => models === undefined || models.some((glob) => matchesGlob(glob, model)),
        );
      },
    },
    {
      name: 'deliveries',
      scans: true,
      path: DELIVERIES,
      description: { summary: 'List own webhooks', query: DELIVERY_PARAMETERS, schema: DELIVERY_RESPONSES.ownList },
      read: (query, scope) => deliveries.list(query, own(scope)),
    },
    {
      name: 'receivers',
      scans: true,
      path: `${DELIVERIES}/receivers`,
      description: {
        summary: 'List receivers of own webhooks, and how the newest ones to them ended',
        query: CREATED_PARAMETERS,
        schema: DELIVERY_RESPONSES.receivers,
      },
      read: (query, scope) => deliveries.receivers(query, own(scope)),
    },
    {
      name: 'delivery',
      path: `${DELIVERIES}/{id}`,
      description: { summary: 'See what became of an own webhook', schema: DELIVERY_RESPONSES.own },
      read: (_query, scope, { id }) => deliveries.get(id, own(scope)),
    },
    {
      name: 'delivery-body',
      path: `${DELIVERIES}/{id}/body`,
      description: {
        summary: 'Show what an own webhook sends, with headers that are signed now',
        schema: DELIVERY_RESPONSES.body,
      },
      read: (_query, scope, { id, key }) =>
        deliveries.body(id, { ...own(scope), mayReadSecrets: !key.settings.readOnly }),
    },
    {
      name: 'sessions',
      path: SESSIONS,
      description: {
        summary: 'List open sessions of browsers with this key, the newest first',
        query: OPEN_SESSION_PARAMETERS,
        schema: sessionList,
      },
      read: async (query, { keyId = '', names }, { session }) =>
        (await openSessions()).list(query, { keyId, names, current: session?.id }),
    },
    {
      name: 'session-removal',
      method: 'DELETE',
      isForReaders: true,
      path: `${SESSIONS}/{id}`,
      description: { summary: 'End a session of a browser with this key', schema: endedSession },
      read: async (_query, { keyId = '' }, { id, requestId }) =>
        (await openSessions()).end(id, { actor: 'key', requestId }, keyId),
    },
    {
      name: 'views',
      path: VIEWS,
      description: { summary: 'List own saved views of the dashboard', schema: viewList },
      read: async (_query, { keyId = '' }) => (await savedViews()).list(keyId),
    },
    {
      name: 'view',
      path: `${VIEWS}/{id}`,
      description: { summary: 'Get an own saved view', schema: oneView },
      read: async (_query, { keyId = '' }, { id }) => (await savedViews()).get(keyId, id),
    },
    {
      name: 'view-change',
      method: 'PUT',
      path: `${VIEWS}/{id}`,
      description: { summary: 'Save an own view under an id, or replace it', schema: oneView },
      body: { name: 'SavedView', schema: viewBody },
      read: async (_query, { keyId = '' }, { id, body }) => (await savedViews()).put(keyId, id, body),
    },
    {
      name: 'view-removal',
      method: 'DELETE',
      path: `${VIEWS}/{id}`,
      description: { summary: 'Delete an own saved view', schema: deleted },
      read: async (_query, { keyId = '' }, { id }) => (await savedViews()).remove(keyId, id),
    },
  ];
  return routes.map((route) => routeOf(route, protocol, options.limitReads));
}

function routeOf(
  { name, method, isForReaders, scans, path, description, body, read }: SelfRoute,
  protocol: Protocol,
  limitReads: ReadLimit,
): Route<RequestContext> {
  const { schema, ...rest } = description;
  const response = { status: 200, description: 'As it is now.', type: JSON_TYPE, schema };
  const route: Route<RequestContext, Record<string, string>> = {
    name: `own.${name}`,
    method: method ?? 'GET',
    path: literalStart(path),
    match: matchTemplate(path),
    templates: [{ path }],
    protocol,
    access: 'key',
    changes: method !== undefined && !isForReaders,
    limited: false,
    hasOwnQuery: true,
    describe: () => ({
      id: `own_${name}`,
      tag: 'use',
      ...rest,
      ...(body && { body: { types: [JSON_TYPE], schema: body } }),
      response,
    }),
    async handle(context, { id = '' }) {
      const key: Key = keyOf(context);
      const { query, session, requestId } = context;
      const asked = { key, id, session, requestId, body: body ? await readBody(context.body) : {} };
      const answer = () => read(query, { keyId: key.id, names: new Map([[key.id, key.name]]) }, asked);
      const found = await (scans ? limitReads(key.id, answer) : answer());
      const isText = found instanceof TextBody;
      const headers = { 'cache-control': 'no-store', ...(isText && found.headers) };
      return context.send({ headers, body: isText ? found.text : found });
    },
  };
  return route as Route<RequestContext>;
}
