/** Routes of the admin API for the operation of gateways, the audit log, sessions of browsers and saved views. */

import { endedSession, OPEN_SESSION_PARAMETERS, sessionList } from '../sessions/schema.ts';
import * as operation from './operation-schema.ts';
import type { AdminRoute } from './route.ts';
import * as schemas from './schema.ts';

const SESSIONS = '/admin/v1/sessions';
const VIEWS = '/admin/v1/views';
const VIEW = `${VIEWS}/{id}`;

/** Routes by name. */
export const OPERATION_ROUTES = {
  Audit: {
    method: 'GET',
    path: '/admin/v1/audit',
    summary: 'List changes, and who made them',
    query: schemas.AUDIT_PARAMETERS,
    response: operation.auditList,
  },
  Replicas: {
    method: 'GET',
    path: '/admin/v1/health/replicas',
    summary: 'List live gateways, and their jobs',
    response: operation.replicas,
  },
  Explanation: {
    method: 'POST',
    path: '/admin/v1/explain',
    summary: 'Explain where a request would go, without sending it',
    readsOnly: true,
    body: schemas.question,
    response: operation.explanation,
  },
  EndpointHealth: {
    method: 'GET',
    path: '/admin/v1/health/endpoints',
    summary: 'Health of endpoints used lately, over all gateways',
    response: operation.healthOfEndpoints,
  },
  ModelList: {
    method: 'GET',
    path: '/admin/v1/models',
    summary: 'List models with their endpoints and rules',
    query: schemas.MODEL_PARAMETERS,
    compresses: true,
    response: operation.modelList,
  },
  ModelStatistics: {
    method: 'GET',
    path: '/admin/v1/models/statistics',
    summary:
      'Median times to the first byte and tokens per second of the models that this gateway used in the last five minutes',
    compresses: true,
    response: schemas.modelStatistics,
  },
  PriceChanges: {
    method: 'GET',
    path: '/admin/v1/models/price-changes',
    summary: 'List models whose price changed since the gateway remembers prices, the newest change first',
    compresses: true,
    response: schemas.priceChanges,
  },
  Setup: { method: 'GET', path: '/admin/v1/setup', summary: 'Show what a request needs', response: operation.setup },
  Config: {
    method: 'GET',
    path: '/admin/v1/config',
    summary: 'Show every setting in use with its origin, the changes since the start, and errors',
    compresses: true,
    response: operation.effectiveConfig,
  },
  ConfigCheck: {
    method: 'POST',
    path: '/admin/v1/config/check',
    summary: 'Check the text of a configuration, without the values of environment variables',
    readsOnly: true,
    body: schemas.configText,
    response: operation.checkedConfig,
  },
  StoreHealth: {
    method: 'GET',
    path: '/admin/v1/health/store',
    summary: 'Show whether the store can be written, its waiting records, size, disk and retention',
    response: operation.storeHealth,
  },
  ProviderTest: {
    method: 'POST',
    path: '/admin/v1/providers/{id}/test',
    summary: 'Ask a provider for its list of models now',
    response: operation.providerTest,
  },
  LocalServers: {
    method: 'POST',
    path: '/admin/v1/providers/local',
    summary: 'Look for model servers of this machine at their usual addresses now',
    response: operation.localServers,
  },
  SessionList: {
    method: 'GET',
    path: SESSIONS,
    summary: 'List open sessions of browsers, the newest first; a viewer sees its own',
    query: OPEN_SESSION_PARAMETERS,
    response: sessionList,
  },
  SessionRemoval: {
    method: 'DELETE',
    path: `${SESSIONS}/{id}`,
    summary: 'End a session of a browser',
    response: endedSession,
  },
  ViewList: { method: 'GET', path: VIEWS, summary: 'List views of operators', response: schemas.viewList },
  View: { method: 'GET', path: VIEW, summary: 'Get a saved view', response: schemas.oneView },
  ViewChange: { method: 'PUT', path: VIEW, summary: 'Save a view', body: schemas.viewBody, response: schemas.oneView },
  ViewRemoval: { method: 'DELETE', path: VIEW, summary: 'Delete a saved view', response: schemas.deleted },
} satisfies Record<string, AdminRoute>;
