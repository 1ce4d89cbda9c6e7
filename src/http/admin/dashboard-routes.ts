/** Routes of the admin API for records of the dashboard: sessions of browsers and saved views. */

import { endedSession, OPEN_SESSION_PARAMETERS, sessionList } from '../sessions/schema.ts';
import type { AdminRoute } from './route.ts';
import * as schemas from './schema.ts';

const SESSIONS = '/admin/v1/sessions';
const VIEWS = '/admin/v1/views';
const VIEW = `${VIEWS}/{id}`;

/** Routes by name. */
export const DASHBOARD_ROUTES = {
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
  ViewRemoval: { method: 'DELETE', path: VIEW, summary: 'Delete a saved view' },
} satisfies Record<string, AdminRoute>;
