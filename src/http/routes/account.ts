/** Account routes, e.g. `GET /v1/usage`: usage, single requests and remaining limits of the calling key. */

import type { Protocol } from '../../core/protocol.ts';
import { type AccountRouteOptions, credits, generation, keyFacts, type ReadAccount, usage } from '../account.ts';
import { ACCOUNT_DESCRIPTIONS } from '../openapi/account.ts';
import { keyOf, type RequestContext } from '../request-context.ts';
import { matchExactly, type Route } from '../route-table.ts';

const READERS: Record<keyof typeof ACCOUNT_DESCRIPTIONS, ReadAccount> = { usage, generation, key: keyFacts, credits };

export function accountRoutes(protocol: Protocol, options: AccountRouteOptions): Route<RequestContext>[] {
  return Object.entries(READERS).map(([name, read]): Route<RequestContext> => {
    const path = `/v1/${name}`;
    return {
      name: `own.${name}`,
      method: 'GET',
      path,
      match: matchExactly(path),
      templates: [{ path }],
      protocol,
      access: 'key',
      changes: false,
      limited: false,
      hasOwnQuery: true,
      describe: () => ACCOUNT_DESCRIPTIONS[name as keyof typeof ACCOUNT_DESCRIPTIONS],
      async handle(context) {
        const body = await read(keyOf(context), context.query, options);
        return context.send({ body });
      },
    };
  });
}
