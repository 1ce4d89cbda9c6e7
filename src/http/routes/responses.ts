/** Routes of stored responses below `/v1/responses`. */

import type { Protocol } from '../../core/protocol.ts';
import { RESPONSE_DESCRIPTIONS, type ResponseAction } from '../openapi/responses.ts';
import type { RequestContext } from '../request-context.ts';
import { matchTemplate, type Route } from '../route-table.ts';
import type { ResponseHandlers } from '../stored-responses.ts';

const ROUTES: readonly { action: ResponseAction; method: 'GET' | 'POST' | 'DELETE'; template: string }[] = [
  { action: 'get', method: 'GET', template: '/v1/responses/{id}' },
  { action: 'delete', method: 'DELETE', template: '/v1/responses/{id}' },
  { action: 'cancel', method: 'POST', template: '/v1/responses/{id}/cancel' },
  { action: 'items', method: 'GET', template: '/v1/responses/{id}/input_items' },
];

export function responseRoutes(protocol: Protocol, handlers: ResponseHandlers): Route<RequestContext>[] {
  return ROUTES.map(({ action, method, template }): Route<RequestContext, { id: string }> => {
    const match = matchTemplate(template);
    return {
      name: `responses.${action}`,
      method,
      path: '/v1/responses',
      match(path) {
        const { id } = match(path) ?? {};
        return id === undefined ? undefined : { id };
      },
      templates: [{ path: template }],
      protocol,
      surface: protocol.id,
      access: 'key',
      changes: method !== 'GET',
      limited: false,
      describe: () => ({ id: `responses_${action}`, tag: protocol.id, ...RESPONSE_DESCRIPTIONS[action] }),
      handle: handlers[action],
    };
  });
}
