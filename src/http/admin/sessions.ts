/** Handlers of the admin API for open sessions of browsers. */

import { createSessionList } from '../sessions/list.ts';
import type { AdminOptions } from './request.ts';
import type { AdminHandlers } from './routes.ts';

export function createSessionHandlers({
  store,
  keys,
  clock,
}: AdminOptions): Pick<AdminHandlers, 'SessionList' | 'SessionRemoval'> {
  const sessions = createSessionList({ store, now: clock.now });
  return {
    /** A viewer sees its own alone. */
    SessionList: async ({ query, session }) =>
      sessions.list(query, {
        current: session?.id,
        names: await keys.names(),
        ...(session?.role === 'viewer' && { id: session.id }),
      }),
    SessionRemoval: ({ parameters: { id = '' }, author }) => sessions.end(id, author),
  };
}
