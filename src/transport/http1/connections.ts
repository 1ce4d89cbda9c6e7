/** Pool of connections to upstreams: one for each request at a time, kept idle for the next ones until the idle timeout. */

import { lookup } from 'node:dns';
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { systemClock } from '../../core/clock.ts';
import type { HttpProxy } from '../../core/http-proxy.ts';
import { LinkedList } from '../../core/linked-list.ts';
import { readShared, sharedReads } from '../../http1/shared-reads.ts';
import type { DeadlineTimer } from '../deadlines.ts';
import { MIN_IDLE_TIMEOUT_MS, UpstreamConnection, type UpstreamConnectionOptions } from './connection.ts';
import type { Origin, SocketEvents } from './origin.ts';

/** Time for which an idle connection is kept, unless its server names another one (`Keep-Alive: timeout`). */
const DEFAULT_IDLE_TIMEOUT_MS = 10_000;
const MAX_IDLE_TIMEOUT_MS = 600_000;
const TCP_KEEP_ALIVE_MS = 60_000;
const SWEEP_INTERVAL_MS = 1000;
/** Part of the time for which a server has kept an idle connection, in which others are used again. */
const REUSED_PART = 0.75;
/** An idle connection that is open for so much longer than that time shows that others were closed for another reason. */
const PROOF_MS = 500;
/** An idle connection is closed before its server would do it, so that no request is on its way then. */
const IDLE_TIMEOUT_MARGIN_MS = 2 * SWEEP_INTERVAL_MS;
const IN_BACKGROUND = { background: true };
/** Most requests go to a few URLs, and parsing one takes longer than looking it up. */
const MAX_KNOWN_URLS = 1000;

/** An origin with its idle connections, the last used at the end. Closed ones are dropped when they are met. */
interface UpstreamServer extends Origin {
  idle: UpstreamConnection[];
  /** Milliseconds after which it has closed an idle connection; `Infinity` as long as it seems to close none. */
  keepsMs: number;
  /** Proxy on the way to it. */
  proxy: HttpProxy | undefined;
  /** Whether the server was dropped, so that its connections are not kept any more. */
  isForgotten: boolean;
}

/** Server and path of a URL. */
export interface UrlTarget {
  readonly server: UpstreamServer;
  /** Path with the query. */
  readonly path: string;
}

export class UpstreamConnections {
  readonly #timer: DeadlineTimer;
  readonly #connectTimeout: number;
  readonly #proxy: HttpProxy | undefined;
  readonly #servers = new Map<string, UpstreamServer>();
  readonly #targets = new Map<string, UrlTarget>();
  readonly #open = new LinkedList<UpstreamConnection>();
  /** Connections whose response ended in this turn of the event loop. */
  #released: { connection: UpstreamConnection; server: UpstreamServer }[] = [];
  #cancelSweep: (() => void) | undefined;
  /** Settles once all are closed. */
  readonly #empty = Promise.withResolvers<void>();
  #isClosed = false;

  /** `connectTimeout` in milliseconds. */
  constructor(timer: DeadlineTimer, connectTimeout: number, proxy?: HttpProxy) {
    this.#timer = timer;
    this.#connectTimeout = connectTimeout;
    this.#proxy = proxy;
  }

  /** Throws for a text that is no URL of HTTP. */
  targetOf(url: string): UrlTarget {
    const known = this.#targets.get(url);
    if (known) return known;
    const { origin, protocol, hostname, host, port, pathname, search } = new URL(url);
    if (protocol !== 'http:' && protocol !== 'https:') throw new Error(`An upstream has no URL of ${protocol}`);
    if (this.#targets.size >= MAX_KNOWN_URLS) this.#forgetTargets();
    let server = this.#servers.get(origin);
    if (!server) {
      const isSecure = protocol === 'https:';
      const name = withoutBrackets(hostname);
      const number = Number(port || (isSecure ? 443 : 80));
      server = {
        host,
        hostname: name,
        port: number,
        isSecure,
        proxy: this.#proxy?.serves(name, number) ? this.#proxy : undefined,
        idle: [],
        keepsMs: Number.POSITIVE_INFINITY,
        isForgotten: false,
      };
      this.#servers.set(origin, server);
    }
    const target = { server, path: pathname + search };
    this.#targets.set(url, target);
    return target;
  }

  /** An idle connection, the last used, or a new one. */
  take(server: UpstreamServer): UpstreamConnection {
    return takeIdle(server, systemClock.monotonic()) ?? this.open(server);
  }

  /** A new connection. `isSingle`: for one request. */
  open(server: UpstreamServer, isSingle = false): UpstreamConnection {
    const options: UpstreamConnectionOptions = {
      timer: this.#timer,
      connectTimeout: this.#connectTimeout,
      isSingle,
      openSocket: (events) => openSocket(server, events),
      lateCause: (socket) => lateCause(server, socket),
      onIdle: (connection, seconds) => this.#keep(server, connection, seconds),
      onExpired: (connection) => noteExpiry(server, connection),
      onClosed: (connection) => this.#forget(connection),
    };
    const connection = new UpstreamConnection(server, options);
    this.#open.add(connection);
    return connection;
  }

  /** Closes idle connections at once and the others after their request. Settles when all are closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { idle } of this.#servers.values()) for (const connection of idle.splice(0)) connection.abort();
    this.#cancelSweep?.();
    if (this.#open.size > 0) await this.#empty.promise;
  }

  /**
   * Keeps a connection from the next turn of the event loop on: bytes that its server sent behind the response, or the end of the
   * connection, are read in this turn, and must not meet another request.
   */
  #keep(server: UpstreamServer, connection: UpstreamConnection, seconds: number | undefined): void {
    const idleMs =
      seconds === undefined
        ? DEFAULT_IDLE_TIMEOUT_MS
        : Math.min(MAX_IDLE_TIMEOUT_MS, seconds * 1000 - IDLE_TIMEOUT_MARGIN_MS);
    if (this.#isClosed || idleMs <= 0) {
      connection.abort();
      return;
    }
    connection.idleMs = undefined;
    connection.idleSince = Number.POSITIVE_INFINITY;
    connection.idleUntil = systemClock.monotonic() + idleMs;
    if (this.#released.push({ connection, server }) === 1) setImmediate(() => this.#keepReleased());
  }

  #keepReleased(): void {
    const released = this.#released;
    this.#released = [];
    const now = systemClock.monotonic();
    for (const { connection, server } of released) {
      if (this.#isClosed || server.isForgotten) connection.abort();
      else if (!connection.isClosed) {
        connection.idleSince = now;
        server.idle.push(connection);
      }
    }
    this.#cancelSweep ??= systemClock.after(SWEEP_INTERVAL_MS, () => this.#sweep(), IN_BACKGROUND);
  }

  /** Forgets the URLs, and servers without idle connections. */
  #forgetTargets(): void {
    this.#targets.clear();
    for (const [origin, server] of this.#servers) {
      if (server.idle.length > 0) continue;
      server.isForgotten = true;
      this.#servers.delete(origin);
    }
  }

  #forget(connection: UpstreamConnection): void {
    this.#open.delete(connection);
    if (this.#isClosed && this.#open.size === 0) this.#empty.resolve();
  }

  #sweep(): void {
    this.#cancelSweep = undefined;
    const now = systemClock.monotonic();
    for (const server of this.#servers.values()) {
      const oldest = oldestIdle(server);
      if (oldest && now - oldest.idleSince > server.keepsMs + PROOF_MS) server.keepsMs = Number.POSITIVE_INFINITY;
      for (const connection of server.idle) if (connection.idleUntil <= now) connection.abort();
      server.idle = server.idle.filter(({ isClosed }) => !isClosed);
      if (server.idle.length > 0)
        this.#cancelSweep ??= systemClock.after(SWEEP_INTERVAL_MS, () => this.#sweep(), IN_BACKGROUND);
    }
  }
}

/** The idle connection that was used last, unless its server may be about to close it. */
function takeIdle(server: UpstreamServer, now: number): UpstreamConnection | undefined {
  const { idle, keepsMs } = server;
  for (let kept = idle.at(-1); kept; kept = idle.at(-1)) {
    const isKept = !kept.isClosed && kept.idleUntil > now;
    const idleMs = now - kept.idleSince;
    if (isKept && idleMs > keepsMs * REUSED_PART) {
      // The others are idle for longer. One stays, which shows when the server closes it.
      for (const other of idle.splice(1)) other.abort();
      return undefined;
    }
    idle.pop();
    if (isKept) {
      kept.idleMs = idleMs;
      return kept;
    }
    kept.abort();
  }
  return undefined;
}

/** Notes how long a connection was idle that the server has closed, unless one that is idle for longer is open. */
function noteExpiry(server: UpstreamServer, connection: UpstreamConnection): void {
  const { idleSince, idleMs = systemClock.monotonic() - idleSince } = connection;
  const oldest = oldestIdle(server);
  if (idleMs >= MIN_IDLE_TIMEOUT_MS && !(oldest && oldest.idleSince < idleSince)) server.keepsMs = idleMs;
}

function oldestIdle({ idle }: UpstreamServer): UpstreamConnection | undefined {
  while (idle[0]?.isClosed) idle.shift();
  return idle[0];
}

function openSocket(server: UpstreamServer, events: SocketEvents): Socket {
  const { hostname: host, port, isSecure, proxy } = server;
  if (proxy) return openThrough(proxy, server, events);
  const options = { host, port, lookup: lookupOnce, onread: sharedReads(events.read) };
  if (isSecure) return encrypt(server, options, events);
  return withoutDelay(connect(options, events.connected));
}

function openThrough(proxy: HttpProxy, server: UpstreamServer, events: SocketEvents): Socket {
  const socket = connectProxy(proxy, () => {
    import('../../core/proxy-tunnel.ts')
      .then(({ openTunnel }) => openTunnel(socket, server, proxy))
      .then(() => {
        if (socket.destroyed) return;
        const inner = server.isSecure ? encrypt(server, { socket }, events) : socket;
        readShared(inner, events.read);
        if (server.isSecure) events.replaced(inner);
        else events.connected();
      })
      .catch((error) => socket.destroy(error));
  });
  return socket;
}

function connectProxy({ url }: HttpProxy, onConnected: () => void): Socket {
  const { protocol, hostname, port } = new URL(url.reveal());
  const isSecure = protocol === 'https:';
  const host = withoutBrackets(hostname);
  const options = { host, port: Number(port || (isSecure ? 443 : 80)), lookup: lookupOnce };
  if (!isSecure) return withoutDelay(connect(options, onConnected));
  const servername = isIP(host) ? '' : host;
  return withoutDelay(connectTls({ ...options, servername, ALPNProtocols: ['http/1.1'] }, onConnected));
}

function encrypt(origin: Origin, options: ConnectionOptions, { connected }: SocketEvents): Socket {
  const { hostname, session } = origin;
  const servername = isIP(hostname) ? '' : hostname;
  const socket = connectTls({ ...options, servername, ALPNProtocols: ['http/1.1'], session }, connected);
  socket.on('session', (resumable) => {
    origin.session = resumable;
  });
  return withoutDelay(socket);
}

function lateCause({ hostname, proxy }: UpstreamServer, { connecting }: Socket): string {
  const host = proxy ? withoutBrackets(new URL(proxy.url.reveal()).hostname) : hostname;
  if (lookups.has(host)) return `The addresses of ${host} were not found in time.`;
  if (proxy) return 'No connection through the proxy was made in time.';
  return connecting ? 'No TCP connection was made in time.' : 'The TLS handshake did not end in time.';
}

/** Those who wait for the addresses of a name. */
const lookups = new Map<string, Parameters<LookupFunction>[2][]>();

/**
 * Looks a name up once for all connections that need it. The system looks up two names at a time, and one whose name servers do
 * not answer takes ten seconds and more, for which every further lookup would keep all other names waiting.
 */
const lookupOnce: LookupFunction = (name, options, callback) => {
  const waiting = lookups.get(name);
  if (waiting) return void waiting.push(callback);
  const callbacks = [callback];
  lookups.set(name, callbacks);
  lookup(name, options, (...result) => {
    lookups.delete(name);
    for (const done of callbacks) done(...result);
  });
};

function withoutDelay(socket: Socket): Socket {
  return socket.setNoDelay(true).setKeepAlive(true, TCP_KEEP_ALIVE_MS);
}

function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}
