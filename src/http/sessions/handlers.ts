/** Handlers of the routes of sessions. */

import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import type { ServerRequest } from '../../http1/server-request.ts';
import { checkAccess } from '../../keys/scopes.ts';
import type { Store } from '../../store/store.ts';
import { networkOf } from '../client-address.ts';
import type { SharedRate } from '../rate.ts';
import type { HttpContext } from '../request-context.ts';
import { encodeCookie, readCookie } from './cookie.ts';
import type { SessionGate } from './gate.ts';
import { createLoginCode, loginUrl } from './login-code.ts';
import type { SessionHandlers, SessionResponse } from './routes.ts';
import type { BrowserSession, Login } from './sessions.ts';
import { checkChange, checkReader } from './site.ts';

export interface SessionHandlerOptions {
  gate: SessionGate;
  store: Pick<Store, 'call'>;
  /** Counts wrong logins by client address. */
  wrongLogin: SharedRate;
  /** Client address, by which wrong logins are limited. */
  addressOf(request: ServerRequest): string;
  /** Base URL of the address of clients; absent where it is this one. */
  clientsUrl?: (() => string) | undefined;
  /** Base URL of the address of the admin API; absent where it is this one. */
  adminUrl?: (() => string | undefined) | undefined;
  /** Unix milliseconds. */
  now(): number;
}

export function createSessionHandlers(options: SessionHandlerOptions): SessionHandlers {
  const { gate, store, wrongLogin, addressOf, clientsUrl, adminUrl, now } = options;
  const { sessions, servesOperators, servesKeys } = gate;

  function encode(session: BrowserSession | undefined): Json {
    const { role = 'nobody', id = null, key, openedAt, endsAt } = session ?? {};
    return {
      data: {
        role,
        id,
        key: key
          ? {
              hash: key.id,
              name: key.name,
              label: `${key.prefix}...`,
              read_only: key.settings.readOnly ?? false,
            }
          : null,
        opened_at: openedAt === undefined ? null : iso(openedAt),
        ends_at: endsAt === undefined ? null : iso(endsAt),
        serves_operators: servesOperators,
        serves_keys: servesKeys,
        clients_url: clientsUrl?.() ?? null,
        admin_url: role === 'admin' || role === 'viewer' ? (adminUrl?.() ?? null) : null,
      },
    };
  }

  async function show({ request }: HttpContext): Promise<SessionResponse> {
    checkReader(request.headers, gate.findSite(request.headers));
    return { body: encode(await gate.find(request)) };
  }

  /** Always a new secret, so that nobody can fix the session of another. */
  async function open({ request, requestId }: HttpContext, body: Json): Promise<SessionResponse> {
    const site = gate.findSite(request.headers);
    checkChange(request.headers, site);
    if (Object.keys(body).length !== 1) {
      throw new GatewayError('invalid_request', 'The body must have exactly one of code, token and key.');
    }
    if (!servesOperators && body.key === undefined) throw elsewhere();
    if (!servesKeys && body.key !== undefined) throw keysElsewhere();
    const address = addressOf(request);
    const opened = await sessions.open(body as Login, {
      requestId,
      checkKey: ({ settings }) => checkAccess(settings, { changes: false, address }),
    });
    if (!opened) throw wrong(await wrongLogin(networkOf(address)));
    const { session, cookie } = opened;
    const before = readCookie(request.headers, site);
    const ended = before === undefined ? undefined : await sessions.find(before);
    if (ended) await sessions.end(ended.id, { actor: 'admin', requestId });
    return { body: encode(session), cookie: encodeCookie(cookie, site) };
  }

  async function end(context: HttpContext): Promise<SessionResponse> {
    const { request, requestId } = context;
    await sessions.end(sessionOf(context).id, { actor: 'admin', requestId });
    return { body: { deleted: true }, cookie: encodeCookie('', gate.findSite(request.headers)) };
  }

  async function makeLink({ request, requestId }: HttpContext, { role }: Json): Promise<SessionResponse> {
    const author = { actor: 'admin', requestId } as const;
    const { code, expiresAt } = await createLoginCode(store, { role, author, now: now() });
    const url = loginUrl(gate.findSite(request.headers).origin, code);
    return { body: { data: { url, expires_at: iso(expiresAt) } } };
  }

  return {
    Session: show,
    SessionOpening: open,
    SessionEnd: end,
    SessionLink: makeLink,
  };
}

function sessionOf({ session }: HttpContext): BrowserSession {
  if (!session) throw new GatewayError('invalid_api_key', 'A session is required.');
  return session;
}

/** Returns the same error for every wrong login. `wait`: milliseconds until the address may try again, or 0. */
function wrong(wait: number): GatewayError {
  if (wait === 0) return new GatewayError('invalid_api_key', 'The code, token or key is wrong, or no longer valid.');
  return new GatewayError('rate_limit_exceeded', 'Too many wrong logins came from this address; wait a moment.', {
    retryAfter: wait,
  });
}

function elsewhere(): GatewayError {
  return new GatewayError(
    'permission_denied',
    'Operators have no sessions at this address: use that of the admin API, or set ui.admin_on_public.',
  );
}

function keysElsewhere(): GatewayError {
  return new GatewayError(
    'permission_denied',
    'Keys have no sessions at this address: use the address at which they call models.',
    { param: 'key' },
  );
}

function iso(moment: number): string {
  return new Date(moment).toISOString();
}
