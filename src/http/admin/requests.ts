/** Handlers of requests of all keys. */

import { readCapture } from '../captures.ts';
import { readText } from '../requests/query.ts';
import { createRequestReader, type RequestScope } from '../requests/reader.ts';
import type { AdminOptions } from './request.ts';
import type { AdminHandlers } from './routes.ts';

type RequestHandlers = Pick<
  AdminHandlers,
  'RequestList' | 'RequestSummary' | 'RequestSessions' | 'Request' | 'Capture'
>;

export function createRequestHandlers({ keys, captures, ...options }: AdminOptions): RequestHandlers {
  const reader = createRequestReader(options);

  async function scopeOf(query: URLSearchParams): Promise<RequestScope> {
    return { names: await keys.names(), keyId: readText(query, 'key') };
  }

  return {
    RequestList: async ({ query }) => reader.list(query, await scopeOf(query)),
    RequestSummary: async ({ query }) => reader.summary(query, await scopeOf(query)),
    RequestSessions: async ({ query }) => reader.sessions(query, await scopeOf(query)),
    Capture: ({ parameters, session }) => readCapture(captures, parameters.id ?? '', session),
    Request: async ({ query, parameters }) => reader.get(parameters.id ?? '', await scopeOf(query)),
  };
}
