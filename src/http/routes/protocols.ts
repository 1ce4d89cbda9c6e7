/** Routes of protocol operations, e.g. `POST /v1/chat/completions`. */

import { operationsOf, type Prefixes, type RouteMatch } from '../../core/operation.ts';
import type { Protocol } from '../../core/protocol.ts';
import type { AppOptions } from '../app-options.ts';
import { handleInference } from '../inference.ts';
import { describeOperation } from '../openapi/protocols.ts';
import type { RequestContext } from '../request-context.ts';
import { type Route, segmentsBelow } from '../route-table.ts';

export function protocolRoutes(
  protocols: readonly Protocol[],
  prefixes: Prefixes,
  options: AppOptions,
): Route<RequestContext>[] {
  return protocols.flatMap((protocol) =>
    operationsOf(protocol).flatMap((operation) =>
      operation.routes(prefixes).map(
        ({ method, path, match, templates }): Route<RequestContext, RouteMatch> => ({
          name: `inference.${operation.name}`,
          method,
          path,
          match(requested, query) {
            const rest = segmentsBelow(requested, path);
            return rest && match(rest, query);
          },
          templates,
          protocol,
          operation,
          surface: protocol.id,
          access: 'key',
          changes: true,
          limited: true,
          describe: (template) => describeOperation(protocol, operation, { ...template, method }),
          handle(context, found) {
            const asked = { operation, match: found };
            if (operation.name !== 'compact') return handleInference(context, asked, options);
            return import('../compaction.ts').then(({ handleCompaction }) => handleCompaction(context, asked, options));
          },
        }),
      ),
    ),
  );
}
