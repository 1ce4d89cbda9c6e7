/** A whole gateway on a free port, and upstreams over real HTTP that record what they are asked. */

import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, request as openRequest, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig } from '../../src/config/load.ts';
import type { Clock } from '../../src/core/clock.ts';
import type { Json } from '../../src/core/json/json.ts';
import { openSecrets } from '../../src/gateway/encryption.ts';
import { type GatewayOptions, startGateway } from '../../src/gateway/gateway.ts';
import { openKeyStore } from '../../src/keys/store.ts';
import { providerTypes } from '../../src/providers/index.ts';
import { Secret } from '../../src/security/secret.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { createLog } from '../../src/telemetry/log.ts';
import type { JournalDisk } from '../../src/usage/journal/disk.ts';
import type { ManualClock } from '../jobs/manual-clock.ts';
import { type ReusableStore, useStore } from '../store/reusable-store.ts';

export const KEY = 'sk-test-gateway-key-0123456789';

export interface TestGateway {
  url: string;
  /** Of the admin API; empty where there is none. */
  adminUrl: string;
  /** Where its data are. */
  folder: string;
  /** Lines of the log, parsed. */
  log: Json[];
  /** The clock that it was given, where a test moves it. */
  clock?: ManualClock;
  /** `key` is one more key, in the file's own spelling. */
  reload(yaml: string, key?: string): string[];
  close(): Promise<void>;
  /** Closes it, and ends what runs for more than `grace` milliseconds. */
  stop(grace?: number): Promise<void>;
}

export interface TestGatewayOptions extends Pick<GatewayOptions, 'fetchBytes' | 'clock' | 'pages' | 'providerTypes'> {
  /** More keys, in the file's own spelling. */
  keys?: string[];
  /** Variables of the configuration; none if absent. */
  environment?: Record<string, string>;
  /** Stands between the gateway and its store. */
  wrapStore?(store: Store): Store;
  /** Disk of the journal of usage records. */
  journalDisk?: JournalDisk;
  /** The URL of a database to share with other gateways, instead of a store of its own. */
  postgres?: string;
  /** Time that a write waits for another process. */
  lockTimeoutMs?: number;
}

/** Starts a gateway with a configuration file's text; one key is added to it. */
export async function startTestGateway(
  yaml = '',
  {
    keys: more = [],
    environment = {},
    wrapStore = (store) => store,
    postgres,
    lockTimeoutMs,
    ...options
  }: TestGatewayOptions = {},
): Promise<TestGateway> {
  const { store, folder, release } = await openTestStore({ postgres, lockTimeoutMs });
  const known = options.providerTypes ?? providerTypes;
  const configOf = (text: string, key = more.join(', ')) =>
    parseConfig(`data: ${folder}\nkeys: [{ name: test, key: ${KEY} }, ${key}]\n${text}`, {
      environment,
      known,
      port: 0,
    });
  const config = configOf(yaml);
  const newWebhookSecret = async (owner: string) =>
    (await openSecrets({ config, store })).webhooks.generateFirst(owner);
  const keys = await openKeyStore({ store, folder, configured: config.keys, newWebhookSecret });
  // Others change the keys of a shared database, too, and pages show the last use, which is written meanwhile.
  if (postgres !== undefined || options.pages) keys.startRefreshing();
  const log: Json[] = [];
  const logger = createLog({ write: (line) => void log.push(JSON.parse(line)) }, 'debug');
  const gateway = await startGateway({
    config,
    keys,
    store: wrapStore(store),
    log: logger,
    version: 'test',
    ...options,
  });
  const { host, port } = gateway.address;
  async function stop(grace?: number): Promise<void> {
    await gateway.close(grace);
    await keys.close();
    await release();
  }
  return {
    url: `http://${host}:${port}`,
    adminUrl: gateway.admin ? `http://${gateway.admin.host}:${gateway.admin.port}` : '',
    folder,
    log,
    ...(isManual(options.clock) && { clock: options.clock }),
    reload(text, key) {
      const next = configOf(text, key);
      keys.configure(next.keys);
      return gateway.reload(next);
    },
    close: () => stop(),
    stop,
  };
}

function isManual(clock: Clock | undefined): clock is ManualClock {
  return clock !== undefined && 'advance' in clock;
}

/** One that was used before, unless the test asks for a shared database or other times. */
async function openTestStore({
  postgres,
  lockTimeoutMs,
}: Pick<TestGatewayOptions, 'postgres' | 'lockTimeoutMs'>): Promise<ReusableStore> {
  if (postgres === undefined && lockTimeoutMs === undefined) return useStore();
  const folder = mkdtempSync(join(tmpdir(), 'polygate-'));
  const database = postgres === undefined ? undefined : new Secret(postgres);
  const store = await openStore({ data: folder, role: 'owner', lockTimeoutMs, postgres: database });
  async function release(): Promise<void> {
    await store.close();
    rmSync(folder, { recursive: true });
  }
  return { store, folder, release };
}

export interface UpstreamCall {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
  body: Json;
  /** Settles when the gateway closed the connection or the response was finished. */
  closed: Promise<'finished' | 'aborted'>;
}

export interface TestUpstream {
  url: string;
  calls: UpstreamCall[];
  close(): Promise<void>;
}

/** Lets an upstream send its next piece when a test says so. */
export interface Permits {
  give(): void;
  take(): Promise<void>;
}

export function createPermits(): Permits {
  let free = 0;
  const waiting: (() => void)[] = [];
  return {
    give() {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    },
    async take() {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
    },
  };
}

export type Answerer = (call: UpstreamCall, response: ServerResponse) => void | Promise<void>;

export async function startUpstream(answer: Answerer): Promise<TestUpstream> {
  const calls: UpstreamCall[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    const closed = new Promise<'finished' | 'aborted'>((resolve) => {
      response.on('close', () => resolve(response.writableFinished ? 'finished' : 'aborted'));
    });
    const { method = '', url: path = '', headers } = request;
    const body = bytes.length > 0 ? JSON.parse(bytes.toString()) : undefined;
    const call: UpstreamCall = { method, path, headers, bytes, body, closed };
    calls.push(call);
    await answer(call, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export function answerJson(
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

export function answerEvents(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text);
}

/** One client per protocol, as plain HTTP. */
export const PATHS = {
  chat: () => '/v1/chat/completions',
  messages: () => '/anthropic/v1/messages',
  generate: (model: string, stream: boolean) =>
    `/gemini/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
};

export type ProtocolId = keyof typeof PATHS;

export const HEADERS: Record<ProtocolId, Record<string, string>> = {
  chat: { authorization: `Bearer ${KEY}` },
  messages: { 'x-api-key': KEY, 'anthropic-version': '2023-06-01' },
  generate: { 'x-goog-api-key': KEY },
};

/** A plain question in each protocol. */
export function question(protocol: ProtocolId, model: string, text: string, stream = false): Json {
  switch (protocol) {
    case 'chat':
      return { model, messages: [{ role: 'user', content: text }], ...(stream && { stream }) };
    case 'messages':
      return { model, max_tokens: 1000, messages: [{ role: 'user', content: text }], ...(stream && { stream }) };
    case 'generate':
      return { contents: [{ role: 'user', parts: [{ text }] }] };
  }
}

export interface Asked {
  protocol: ProtocolId;
  model: string;
  text: string;
  stream?: boolean;
  signal?: AbortSignal;
}

export function ask(
  gateway: { url: string },
  { protocol, model, text, stream = false, signal }: Asked,
): Promise<Response> {
  return post(
    gateway.url + PATHS[protocol](model, stream),
    question(protocol, model, text, stream),
    HEADERS[protocol],
    signal,
  );
}

export function post(
  url: string,
  body: Json,
  headers: Record<string, string>,
  signal?: AbortSignal,
): Promise<Response> {
  const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: text,
    signal,
  });
}

export interface RawRequest {
  method: string;
  /** Sent as it is, with dots and percent signs. */
  path: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

export interface RawResponse {
  status: number;
  headers: IncomingHttpHeaders;
  trailers: NodeJS.Dict<string>;
  text: string;
}

/** A request that no client library has tidied up. */
export function sendRaw(url: string, { method, path, headers, body }: RawRequest): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    const request = openRequest(url, { method, path, headers }, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk);
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        trailers: response.trailers,
        text: Buffer.concat(chunks).toString(),
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}
