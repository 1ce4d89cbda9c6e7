/** Routes of a browser's session of the dashboard: open, look at and end it, and make links that open others. */

import type { TSchema } from 'typebox';
import { GatewayError } from '../../core/errors.ts';
import { readBody } from '../../core/json/body.ts';
import { assertValid } from '../../core/json/check.ts';
import type { Json } from '../../core/json/json.ts';
import type { Protocol } from '../../core/protocol.ts';
import { type ApiOperation, JSON_TYPE } from '../openapi/operation.ts';
import type { HttpContext } from '../request-context.ts';
import { literalStart, matchTemplate, type Route } from '../route-table.ts';
import { endedSession, link, login, openedLink, session } from './schema.ts';

interface SessionRoute extends Pick<ApiOperation, 'method' | 'path' | 'summary' | 'access'> {
  body?: TSchema;
  /** 200 if absent. */
  status?: number;
  schema: TSchema;
}

const SESSION = '/ui/session';

const ROUTES = {
  Session: { method: 'GET', path: SESSION, access: 'anyone', summary: 'See whose session this is', schema: session },
  SessionOpening: {
    method: 'POST',
    path: SESSION,
    access: 'anyone',
    summary: 'Open a session, in a cookie',
    body: login,
    status: 201,
    schema: session,
  },
  SessionEnd: { method: 'DELETE', path: SESSION, access: 'session', summary: 'End this session', schema: endedSession },
  SessionLink: {
    method: 'POST',
    path: `${SESSION}/links`,
    access: 'admin',
    summary: 'Make a link that opens one session',
    body: link,
    status: 201,
    schema: openedLink,
  },
} satisfies Record<string, SessionRoute>;

export interface SessionResponse {
  body: Json;
  /** Value of `set-cookie`. */
  cookie?: string;
}

export type SessionHandlers = Readonly<
  Record<keyof typeof ROUTES, (context: HttpContext, body: Json) => Promise<SessionResponse>>
>;

/** Routes in the form of the OpenAPI description. */
export const sessionDescriptions = Object.entries<SessionRoute>(ROUTES).map(([name, route]) => ({
  method: route.method,
  templates: [{ path: route.path }],
  access: route.access,
  describe: () => describe(name, route),
}));

export function sessionRoutes(protocol: Protocol, handlers: SessionHandlers): Route<HttpContext>[] {
  return Object.entries<SessionRoute>(ROUTES).map(([name, route]): Route<HttpContext> => {
    const { method, path, access, body: schema, status = 200 } = route;
    return {
      name: `ui.${name}`,
      method,
      path: literalStart(path),
      match: matchTemplate(path),
      templates: [{ path }],
      protocol,
      access,
      changes: method !== 'GET',
      limited: false,
      hasOwnQuery: true,
      ...(access === 'anyone' && { smallBody: true }),
      describe: () => describe(name, route),
      async handle(context) {
        const given = schema ? await readJson(context, schema) : {};
        const { body, cookie } = await handlers[name as keyof typeof ROUTES](context, given);
        const headers = { 'cache-control': 'no-store', ...(cookie !== undefined && { 'set-cookie': cookie }) };
        return context.send({ status, headers, body });
      },
    };
  });
}

async function readJson({ body }: HttpContext, schema: TSchema): Promise<Json> {
  if (body.length === 0) throw new GatewayError('invalid_request', 'The body must be a JSON object.');
  const given = await readBody(body);
  assertValid(schema, given);
  return given;
}

function describe(name: string, { summary, body, status = 200, schema }: SessionRoute): ReturnType<Route['describe']> {
  return {
    id: `ui_${name}`,
    tag: 'ui',
    summary,
    ...(body && { body: { types: [JSON_TYPE], schema: { name: `Ui${name}`, schema: body } } }),
    response: { status, description: 'As it then is.', type: JSON_TYPE, schema },
  };
}
