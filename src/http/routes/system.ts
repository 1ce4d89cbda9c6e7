/** System routes: root page, health, readiness, metrics and OpenAPI description. */

import type { Logger } from 'pino';
import type { Clock } from '../../core/clock.ts';
import type { Protocol } from '../../core/protocol.ts';
import type { Store } from '../../store/store.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { Recorder } from '../../usage/recorder.ts';
import type { KeptBody } from '../kept-body.ts';
import { SYSTEM_DESCRIPTIONS } from '../openapi/system.ts';
import { createReadiness } from '../readiness.ts';
import type { RequestContext } from '../request-context.ts';
import { serveRoot } from '../root-page.ts';
import { matchExactly, type Route } from '../route-table.ts';
import type { Pages } from '../ui/pages.ts';

export interface SystemRouteOptions {
  store: Pick<Store, 'health'>;
  recorder?: Pick<Recorder, 'ready'>;
  metrics: Pick<Metrics, 'text' | 'contentType'>;
  log: Logger;
  clock?: Clock;
  /** See `AppOptions`. */
  isDraining?: () => boolean;
  pages?: Pages;
  /** Builds the OpenAPI description, on the first request for it. */
  describeApi(): object;
}

interface SystemRoute {
  name: keyof typeof SYSTEM_DESCRIPTIONS;
  path: string;
  access: Route['access'];
  openLocally?: true;
  handle(context: RequestContext): void | Promise<void>;
}

export function systemRoutes(
  protocol: Protocol,
  { store, recorder, metrics, log, clock, isDraining, pages, describeApi }: SystemRouteOptions,
): Route<RequestContext>[] {
  const checkReadiness = createReadiness({ store, log, recorder, clock, isDraining });
  let document: KeptBody | undefined;

  async function serveDescription(context: RequestContext): Promise<void> {
    const { createKeptBody, sendKept } = await import('../kept-body.ts');
    document ??= createKeptBody(describeApi());
    return sendKept(context, document, { 'cache-control': 'public, max-age=60' });
  }

  async function serveMetrics(context: RequestContext): Promise<void> {
    const text = await metrics.text();
    context.send({ headers: { 'content-type': metrics.contentType, 'cache-control': 'no-store' }, body: text });
  }

  async function serveRootPage(context: RequestContext): Promise<void> {
    const hasPages = (await pages?.areBuilt()) ?? false;
    serveRoot(context, (await checkReadiness()).status === 200, hasPages);
  }

  const routes: SystemRoute[] = [
    {
      name: 'health',
      path: '/healthz',
      access: 'anyone',
      handle: (context) => context.send({ body: { status: 'ok' } }),
    },
    {
      name: 'readiness',
      path: '/readyz',
      access: 'anyone',
      handle: async (context) => context.send(await checkReadiness()),
    },
    { name: 'root', path: '/', access: 'anyone', handle: serveRootPage },
    { name: 'metrics', path: '/metrics', access: 'admin', openLocally: true, handle: serveMetrics },
    { name: 'openapi', path: '/openapi.json', access: 'anyone', handle: serveDescription },
  ];
  return routes.map(({ name, path, access, openLocally, handle }) => ({
    name,
    method: 'GET',
    path,
    match: matchExactly(path),
    templates: [{ path }],
    protocol,
    access,
    ...(openLocally && { openLocally }),
    changes: false,
    limited: false,
    describe: () => SYSTEM_DESCRIPTIONS[name],
    handle,
  }));
}
