/** Routes of the dashboard's pages. Their data come from the routes of the API. */

import type { Protocol } from '../../core/protocol.ts';
import type { HttpContext } from '../request-context.ts';
import type { Route } from '../route-table.ts';
import type { Pages } from './pages.ts';

export function pageRoutes(protocol: Protocol, pages: Pages): Route<HttpContext>[] {
  const route: Route<HttpContext, string> = {
    name: 'pages',
    method: 'GET',
    path: '/ui',
    match: (path) => path,
    templates: [],
    protocol,
    access: 'anyone',
    changes: false,
    limited: false,
    describe: () => {
      throw new Error('Pages are no part of the API.');
    },
    async handle(context, path) {
      context.send(await pages.response(path, context.request.headers['accept-encoding']));
    },
  };
  return [route as Route<HttpContext>];
}
