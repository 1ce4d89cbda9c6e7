/** Descriptions of the system routes. */

import * as Type from 'typebox';
import type { RouteDescription } from '../route-table.ts';
import { CURRENT_STATE } from './operation.ts';

/** By the name of the route. */
export const SYSTEM_DESCRIPTIONS = {
  health: { id: 'health', tag: 'operation', summary: 'Whether the gateway lives', response: CURRENT_STATE },
  root: { id: 'root', tag: 'operation', summary: 'Links; a page for browsers', response: CURRENT_STATE },
  readiness: {
    id: 'readiness',
    tag: 'operation',
    summary: 'Whether requests should be sent here',
    response: CURRENT_STATE,
  },
  metrics: {
    id: 'metrics',
    tag: 'operation',
    summary: 'Figures in the format of Prometheus; without an admin token only on a gateway that listens on loopback',
    response: { status: 200, description: 'The figures.', type: 'text/plain', schema: Type.String() },
  },
  openapi: { id: 'openapi', tag: 'operation', summary: 'This description', response: CURRENT_STATE },
} satisfies Record<string, RouteDescription>;
