/** Routes of protocols over a WebSocket, e.g. `GET /v1/responses`. */

import * as Type from 'typebox';
import type { Protocol } from '../../core/protocol.ts';
import type { RequestContext } from '../request-context.ts';
import { matchExactly, type Route } from '../route-table.ts';
import type { SocketConnections } from '../websocket/connections.ts';

export function socketRoutes(
  protocols: readonly Protocol[],
  sockets: Pick<SocketConnections, 'open'>,
): Route<RequestContext>[] {
  return protocols.flatMap((protocol): Route<RequestContext>[] => {
    const { socket } = protocol;
    if (!socket) return [];
    const { path, summary } = socket;
    return [
      {
        name: 'inference.connect',
        method: 'GET',
        path,
        match: matchExactly(path),
        templates: [{ path }],
        protocol,
        surface: protocol.id,
        access: 'key',
        changes: true,
        limited: false,
        upgrades: true,
        describe: () => ({
          id: `connect_${protocol.id}`,
          tag: protocol.id,
          summary: `${summary} (${protocol.id})`,
          response: {
            status: 101,
            description: 'Messages follow, as the protocol has them.',
            type: 'application/json',
            schema: Type.Object({}),
          },
        }),
        handle: (context) => sockets.open(context, socket),
      },
    ];
  });
}
