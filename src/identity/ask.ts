/** Client of token endpoints and metadata servers: one request at a time, bounded in time and size, to trusted addresses only. */

import type { Clock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import type { HttpProxy } from '../core/http-proxy.ts';
import { isObject, type Json, parseObject } from '../core/json/json.ts';
import { isLoopback } from '../core/loopback.ts';
import { FetchFailure } from '../net/fetch-failure.ts';
import { createTrustedClient } from '../net/trusted-client.ts';

export interface ServerQuestion {
  /** Name of the server in messages. */
  server: string;
  url: string;
  method?: 'GET' | 'POST' | 'PUT';
  headers?: Record<string, string> | undefined;
  /** Text of a body. */
  body?: string;
  timeoutMs?: number;
  signal: AbortSignal;
  clock: Clock;
  /** For a server outside of the platform. */
  proxy?: HttpProxy | undefined;
  /** Hosts that may be asked by plain http, besides those of this machine. */
  plainHosts?: readonly string[];
}

export interface ServerReply {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** Ten times the longest known answer. */
const MAX_REPLY_BYTES = 256 * 1024;
const TIMEOUT_MS = 10_000;
/** Form of the names of errors, which may be shown; descriptions, and names with digits, may have secrets. */
const ERROR_NAME = /^[A-Za-z][A-Za-z_]{0,39}$/;

/** Throws `unavailable` with the reason if there is no answer; its status is not looked at. */
export async function ask(question: ServerQuestion): Promise<ServerReply> {
  const { server, url, method = 'GET', headers, body, timeoutMs = TIMEOUT_MS, signal, clock, proxy } = question;
  assertTrusted(question);
  const client = createTrustedClient({ clock, proxy });
  try {
    const response = await client.request(url, {
      method,
      headers: { accept: '*/*', ...headers },
      ...(body !== undefined && { body: Buffer.from(body) }),
      deadline: timeoutMs,
      signal,
    });
    const text = await textOf(response.body, server);
    return { status: response.status, headers: response.headers, text };
  } catch (error) {
    if (error instanceof GatewayError && !(error instanceof FetchFailure)) throw error;
    const outcome = error instanceof FetchFailure ? error.outcome : 'timeout';
    throw unavailable(`${server} did not answer (${outcome})`, error);
  } finally {
    await client.close();
  }
}

/** Where there is no metadata server, packets are often dropped. */
const PRESENCE_TIMEOUT_MS = 1000;
/** Time for which a server that did not answer is taken for absent. */
const ABSENCE_MS = 60_000;

/** Asks a server that may be absent, in a bounded time; remembers for a while why it did not answer. */
export function createProbe(clock: Clock) {
  let absence: { until: number; error: unknown } | undefined;
  return async <Value>(probe: (timeoutMs: number) => Promise<Value>): Promise<Value> => {
    if (absence && clock.monotonic() < absence.until) throw absence.error;
    try {
      return await probe(PRESENCE_TIMEOUT_MS);
    } catch (error) {
      absence = { until: clock.monotonic() + ABSENCE_MS, error };
      throw error;
    }
  };
}

async function textOf(body: AsyncIterable<Buffer>, server: string): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > MAX_REPLY_BYTES) throw unavailable(`the answer of ${server} is too long`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Secrets go to other machines by https alone, but to the metadata servers of the vendor. */
function assertTrusted({ server, url, plainHosts = [] }: ServerQuestion): void {
  const { protocol, hostname } = URL.canParse(url) ? new URL(url) : { protocol: '', hostname: '' };
  const host = hostname.replace(/^\[|\]$/g, '');
  if (protocol === 'https:') return;
  if (protocol === 'http:' && (isLoopback(host) || plainHosts.includes(host))) return;
  throw notSetUp(`the address of ${server} must begin with https, or be that of this machine`);
}

/** Reason for which there are no credentials: the message is for clients, `detail` for the operator. */
export class IdentityProblem extends GatewayError {
  readonly detail: string;

  constructor(message: string, detail: string = message, cause?: unknown) {
    super('unavailable', message, { cause });
    this.detail = detail;
  }
}

export function unavailable(reason: string, cause?: unknown): IdentityProblem {
  return new IdentityProblem(reason, reason, cause);
}

/** Files, profiles and variables are no concern of clients. */
export function notSetUp(detail: string): IdentityProblem {
  return new IdentityProblem('they are not set up', detail);
}

/** The JSON object of a successful answer. */
export function jsonOf({ status, text }: ServerReply, server: string): Json {
  const body = parseObject(text);
  if (status !== 200) throw refusal(server, status, errorNameOf(body));
  if (!body) throw unavailable(`the answer of ${server} is no JSON object`);
  return body;
}

/** A refusal, with the name of the error if it has the form of one. */
export function refusal(server: string, status: number, name: unknown): GatewayError {
  const known = typeof name === 'string' && ERROR_NAME.test(name) ? `, ${name}` : '';
  return unavailable(`${server} refused with status ${status}${known}`);
}

/** By the forms of OAuth, of Google and of AWS. */
function errorNameOf(body: Json): unknown {
  const { error, code, Code } = body ?? {};
  return isObject(error) ? (error.status ?? error.code) : (error ?? code ?? Code);
}

const HEADER_TEXT = /^[\x20-\x7e]*$/;

/** Refuses a text of a credential that no header can carry; `name` says to the operator which one it is. */
export function assertHeaderText(text: string, name: string): void {
  if (HEADER_TEXT.test(text)) return;
  const problem = 'a character that no header may have';
  throw new IdentityProblem(`they have ${problem}`, `${name} has ${problem}`);
}

/** A member that has to be a text. */
export function textMember(body: Json, name: string, server: string): string {
  const value = body[name];
  if (typeof value !== 'string' || value === '') throw unavailable(`the answer of ${server} has no ${name}`);
  return value;
}
