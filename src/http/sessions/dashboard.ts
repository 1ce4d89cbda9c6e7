/** Dashboard at one address: the gate of its sessions, and its routes. */

import type { Protocol } from '../../core/protocol.ts';
import type { ServerRequest } from '../../http1/server-request.ts';
import type { Store } from '../../store/store.ts';
import type { Captures } from '../captures.ts';
import type { SharedRate } from '../rate.ts';
import type { HttpContext } from '../request-context.ts';
import type { Route } from '../route-table.ts';
import { pageRoutes } from '../ui/page-routes.ts';
import type { Pages } from '../ui/pages.ts';
import { createSessionGate, type SessionGate, type SessionGateOptions } from './gate.ts';
import { createSessionHandlers } from './handlers.ts';
import { sessionRoutes } from './routes.ts';

export interface Dashboard {
  gate: SessionGate;
  routes: readonly Route<HttpContext>[];
  pages: Pages | undefined;
  /** Store of captures; undefined where captures are disabled. */
  captures: Captures | undefined;
}

export interface DashboardOptions extends SessionGateOptions {
  /** Protocol whose error shape is used. */
  protocol: Protocol;
  store: Pick<Store, 'call'>;
  wrongLogin: SharedRate;
  /** Client address, by which wrong logins are limited. */
  addressOf(request: ServerRequest): string;
  /** Base URL of the address of clients; absent where it is this one. */
  clientsUrl?: () => string;
  /** Base URL of the address of the admin API; absent where it is this one. */
  adminUrl?: () => string | undefined;
  /** Added where operators are served. */
  operatorRoutes: readonly Route<HttpContext>[];
  pages: Pages | undefined;
  captures: Captures | undefined;
}

export function createDashboard(options: DashboardOptions): Dashboard {
  const gate = createSessionGate(options);
  const handlers = createSessionHandlers({ ...options, gate });
  const operatorRoutes = options.servesOperators ? options.operatorRoutes : [];
  const { protocol, pages, captures } = options;
  const forBrowsers = pages ? pageRoutes(protocol, pages) : [];
  return { gate, routes: [...sessionRoutes(protocol, handlers), ...forBrowsers, ...operatorRoutes], pages, captures };
}
