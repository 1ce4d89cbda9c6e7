/** Wiring of the dashboard: its sessions and its admin API at the address of clients and at that of operators. */

import { servesOperators } from '../config/dashboard.ts';
import type { Config } from '../config/resolved.ts';
import type { Protocol } from '../core/protocol.ts';
import type { AdminOptions } from '../http/admin/request.ts';
import { type AdminHandlers, adminRoutes } from '../http/admin/routes.ts';
import { createCaptures } from '../http/captures.ts';
import { createClientAddress } from '../http/client-address.ts';
import { type CreateSharedRate, createRate } from '../http/rate.ts';
import type { HttpContext } from '../http/request-context.ts';
import type { Route } from '../http/route-table.ts';
import { createDashboard, type Dashboard } from '../http/sessions/dashboard.ts';
import { createSessions } from '../http/sessions/sessions.ts';
import { createSiteFinder } from '../http/sessions/site.ts';
import type { Pages } from '../http/ui/pages.ts';
import type { GatewayProcess } from './process.ts';

export interface DashboardParts {
  /** Dashboard at the address of clients; undefined where it is disabled. */
  forClients: Dashboard | undefined;
  /** Dashboard at the address of the admin API. */
  forOperators: { gate: Dashboard['gate'] | undefined; routes: readonly Route<HttpContext>[] };
}

export interface DashboardWiring extends Omit<AdminOptions, 'captures'> {
  /** Place of this process in its gateway; absent if it is the only one. */
  process?: Pick<GatewayProcess, 'instance' | 'findCapture'> | undefined;
  createRate?: CreateSharedRate | undefined;
  /** Pages for browsers; absent where a test needs none. */
  pages?: Pages | undefined;
  /** Base URL at which clients reach the gateway. */
  clientsUrl(): string;
  /** Base URL of the admin API; undefined where it has no address of its own. */
  adminUrl(): string | undefined;
}

/** Wrong logins allowed per client address: burst, and number per minute. */
const MAX_WRONG_LOGINS = 30;

export function openDashboard(
  config: Config,
  protocol: Protocol,
  { createRate: createSharedRate, pages, process, clientsUrl, adminUrl, ...options }: DashboardWiring,
): DashboardParts {
  const { keys, store, clock } = options;
  const { enabled, capture } = config.ui;
  const { instance, findCapture: askOthers } = process ?? {};
  const captures = enabled && capture ? createCaptures({ clock, instance, askOthers }) : undefined;
  let handlers: Promise<AdminHandlers> | undefined;
  const loadHandlers = async () => {
    const { createAdminHandlers } = await import('../http/admin/handlers.ts');
    return createAdminHandlers({ ...options, captures });
  };
  const operatorRoutes = adminRoutes(protocol, () => (handlers ??= loadHandlers()));
  if (!enabled) {
    return { forClients: undefined, forOperators: { gate: undefined, routes: operatorRoutes } };
  }
  const rate = { rate: MAX_WRONG_LOGINS / 60, burst: MAX_WRONG_LOGINS, now: clock.monotonic };
  const shared = {
    sessions: createSessions({ store, keys, token: config.admin?.token, clock }),
    findSite: createSiteFinder([config.server.publicUrl, config.admin?.publicUrl]),
    wrongLogin: createSharedRate?.('wrong logins', rate) ?? createRate(rate),
    keys,
    store,
    protocol,
    operatorRoutes,
    pages,
    captures,
    now: clock.now,
  };
  const forOperators = createDashboard({
    ...shared,
    servesOperators: true,
    servesKeys: false,
    clientsUrl,
    addressOf: ({ socket }) => socket.remoteAddress ?? '',
  });
  const forClients = createDashboard({
    ...shared,
    servesOperators: servesOperators(config),
    servesKeys: true,
    adminUrl,
    addressOf: createClientAddress(config.server.trustedProxies),
  });
  return { forClients, forOperators };
}
