/**
 * Stored trace: how a request was routed, as short JSON beside its usage record, with a few headers: which client asked, and what
 * the upstream says of its answer. Of headers it has short values of the names below and nothing else: no credentials, cookies,
 * addresses, or texts of users.
 */

import type { ChargeNote } from '../catalog/cost.ts';
import type { Json } from '../core/json/json.ts';
import { shortened } from '../core/lengths.ts';
import type { Attempt } from './attempt.ts';
import type { RoutingDecision } from './decision.ts';
import { NO_POLICY } from './policy.ts';
import { type NamedCall, sessionNameOf } from './session-name.ts';
import { type TracedCandidate, traceOf } from './trace.ts';
import { decodeHeaders, encodeRequestHeaders, REQUEST_HEADERS, RESPONSE_HEADERS } from './traced-headers.ts';

/** `problems`: requests that did not complete, were tried again, or lost fields. */
export type TraceChoice = 'all' | 'problems' | 'none';

export interface TracedRequest {
  call: NamedCall;
  decision: RoutingDecision;
  attempts: readonly Attempt[];
  /** Milliseconds from the start of the request to that of each attempt. */
  begins: readonly number[];
  /** Milliseconds from the head of the request to its start; absent if they are not known. */
  checked?: number | undefined;
  isComplete: boolean;
  charge(): ChargeNote;
}

export interface StoredAttempt {
  endpoint: string;
  credential: number | null;
  path: string;
  /** Milliseconds from the start of the request. */
  started_ms: number;
  /** Milliseconds until there was a connection; 0 for one that was kept alive, null without one or if it is not known. */
  connect_ms: number | null;
  first_byte_ms: number | null;
  total_ms: number;
  status: number | null;
  error: string | null;
  dropped: string[];
  note: string | null;
  /** Cooldown in milliseconds that the attempt caused. */
  cooldown_ms: number | null;
  /** Headers of the upstream's response, by name. */
  response_headers: Record<string, string>;
}

export interface StoredTrace {
  /** Name that the client gave the conversation. */
  session: string | null;
  /** Null for the default policy. */
  policy: Json;
  /** Ranked ones first; empty if there was one, which was tried. */
  candidates: TracedCandidate[];
  attempts: StoredAttempt[];
  /** Fields that were dropped for the last attempt. */
  dropped: string[];
  /** Milliseconds until the request was read and admitted; attempts are timed from then. Null if it is not known. */
  check_ms: number | null;
  /** Headers of the client's request, by name. */
  request_headers: Record<string, string>;
  /** Lines of the cost, encoded, or a word for another basis; null where that was not kept. */
  charge: string | null;
  /** Service tier of the response, if it is not the standard one, and whether its prices were assumed. */
  tier: { name: string; isAssumed: boolean } | null;
}

const MAX_BYTES = 4096;
const MAX_NAME_CHARACTERS = 200;
const MAX_DROPPED = 20;
/** Longest text of times and headers; those of responses are left out where it would be longer. */
const MAX_EXTRA_CHARACTERS = 1536;
/** Text that JSON writes as it is, without spaces. */
const PLAIN_NAME = /^[\w./:@+-]{1,200}$/;
/** A longer basis is left out: prices may have any number of digits. */
const MAX_BASIS_CHARACTERS = 1024;
const MAX_TIER_CHARACTERS = 40;
const UNUSUAL_IN_TIERS = /[^\w.-]/g;

/** Undefined if the choice leaves the request out. */
export function storedTraceOf(request: TracedRequest, choice: TraceChoice): string | undefined {
  const { call, decision, attempts, isComplete } = request;
  const [only] = attempts;
  const isPlain = isComplete && attempts.length === 1 && only !== undefined && only.dropped.length === 0;
  if (choice === 'none' || (choice === 'problems' && isPlain)) return undefined;
  const { candidates, excluded, policy } = decision;
  const hadChoice = candidates.length > 1 || excluded.length > 0 || policy !== NO_POLICY;
  const extras = extrasOf(request);
  const ending = encodeCharge(request.charge());
  const session = sessionNameOf(call);
  if (isPlain && !hadChoice && isPlainAttempt(only) && (session === undefined || PLAIN_NAME.test(session)))
    return plainTrace(session, only, request.begins[0] ?? 0, `${extras}${ending}`);
  return fullTrace(request, { session, hadChoice, extras, ending });
}

/** The last members and the end of the object, in ASCII. */
function encodeCharge({ basis, tier }: ChargeNote): string {
  const charge = basis.length <= MAX_BASIS_CHARACTERS ? `,"u":"${basis}"}` : '}';
  if (tier === undefined) return charge;
  const name = tier.name.slice(0, MAX_TIER_CHARACTERS).replace(UNUSUAL_IN_TIERS, '?');
  return `,"v":["${name}"${tier.isAssumed ? ',1' : ''}]${charge}`;
}

/** Members between the attempts and the charge, in ASCII: lists by the places of attempts, and headers as far as there is room. */
function extrasOf({ call, attempts, checked }: TracedRequest): string {
  let times = checked === undefined ? 'null' : `${Math.round(checked)}`;
  let cooldowns: string | undefined;
  let answered: string | undefined;
  for (let index = 0; index < attempts.length; index++) {
    const { connected, cooldownMs, headers } = attempts[index] as Attempt;
    times += connected === undefined ? ',null' : `,${connected === 0 ? 0 : Math.max(1, Math.round(connected))}`;
    if (cooldownMs !== undefined) cooldowns = `${cooldowns ?? 'null,'.repeat(index)}${Math.round(cooldownMs)},`;
    else if (cooldowns !== undefined) cooldowns += 'null,';
    if (headers !== undefined) answered = `${answered ?? 'null,'.repeat(index)}${headers},`;
    else if (answered !== undefined) answered += 'null,';
  }
  let text = `,"k":[${times}]`;
  if (cooldowns !== undefined) text += `,"w":[${cooldowns.slice(0, -1)}]`;
  const asked = encodeRequestHeaders(call.headers);
  if (asked !== undefined) text += `,"h":${asked}`;
  const hasRoom = answered !== undefined && text.length + answered.length <= MAX_EXTRA_CHARACTERS;
  return hasRoom ? `${text},"r":[${answered?.slice(0, -1)}]` : text;
}

function isPlainAttempt({ endpoint, note, error }: Attempt): boolean {
  return note === undefined && error === undefined && PLAIN_NAME.test(endpoint);
}

/** The usual case, written by hand: one endpoint answered. Its bounded parts are shorter than `MAX_BYTES` together. */
function plainTrace(session: string | undefined, attempt: Attempt, begin: number, rest: string): string {
  const { endpoint, path, firstByte, milliseconds, status, credential } = attempt;
  const named = session === undefined ? '' : `"s":"${session}",`;
  const first = firstByte === undefined ? 'null' : Math.round(firstByte);
  const tail = credential === undefined ? '' : `,${credential}`;
  return `{${named}"a":[["${endpoint}","${path}",${Math.round(begin)},${first},${Math.round(milliseconds)},${status ?? 'null'}${tail}]]${rest}`;
}

interface TraceParts {
  session: string | undefined;
  hadChoice: boolean;
  extras: string;
  ending: string;
}

function fullTrace(
  { decision, attempts, begins }: TracedRequest,
  { session, hadChoice, extras, ending }: TraceParts,
): string {
  const dropped = (attempts.at(-1)?.dropped ?? []).slice(0, MAX_DROPPED).map(bounded);
  const shown = hadChoice ? traceOf(decision, []) : undefined;
  const trace = {
    ...(session !== undefined && { s: session }),
    ...(shown && decision.policy !== NO_POLICY && { p: shown.policy }),
    ...(dropped.length > 0 && { dropped }),
    a: attempts.map((attempt, index) => encodeAttempt(attempt, begins[index] ?? 0)),
  };
  const candidates = shown?.candidates ?? [];
  for (let count = candidates.length; ; count = Math.floor(count / 2)) {
    const text = JSON.stringify(count > 0 ? { ...trace, c: candidates.slice(0, count).map(boundedCandidate) } : trace);
    const bytes = Buffer.byteLength(text);
    for (const rest of count > 0 ? [`${extras}${ending}`, ending] : [`${extras}${ending}`, ending, '}'])
      if (bytes - 1 + rest.length <= MAX_BYTES) return `${text.slice(0, -1)}${rest}`;
    if (count === 0) break;
  }
  const few = attempts
    .slice(0, 8)
    .map((attempt, index) => encodeAttempt({ ...attempt, dropped: [] }, begins[index] ?? 0));
  const short = JSON.stringify({ a: few.map((fields) => fields.slice(0, 7)) });
  const bytes = Buffer.byteLength(short);
  if (bytes - 1 + ending.length <= MAX_BYTES) return `${short.slice(0, -1)}${ending}`;
  return bytes <= MAX_BYTES ? short : `{"a":[]${ending}`;
}

/** Endpoint, path, begin, first byte, total, status, credential, error, note, dropped; without absent ones at the end. */
function encodeAttempt(attempt: Attempt, begin: number): Json[] {
  const { endpoint, path, firstByte, milliseconds, status, credential, error, note, dropped } = attempt;
  const fields: Json[] = [
    bounded(endpoint),
    path,
    Math.round(begin),
    firstByte === undefined ? null : Math.round(firstByte),
    Math.round(milliseconds),
    status ?? null,
    credential ?? null,
    error ?? null,
    note === undefined ? null : bounded(note),
    dropped.length === 0 ? null : dropped.slice(0, MAX_DROPPED).map(bounded),
  ];
  while (fields.at(-1) === null) fields.pop();
  return fields;
}

function boundedCandidate({ endpoint, model, left_out: reason, ...rest }: TracedCandidate): TracedCandidate {
  return {
    endpoint: bounded(endpoint),
    model: bounded(model),
    ...rest,
    ...(reason !== undefined && { left_out: bounded(reason) }),
  };
}

/** Shortens a text and removes NUL, which PostgreSQL cannot store, even as an escape in JSON text. */
function bounded(text: string): string {
  return shortened(text, MAX_NAME_CHARACTERS).replaceAll('\0', '');
}

/** Undefined for a record without a trace, and for one that this version cannot read. */
export function decodeStoredTrace(text: string | null | undefined): StoredTrace | undefined {
  if (!text) return undefined;
  try {
    const { s = null, p = null, c = [], a = [], dropped = [], k, w, h, r, u = null, v } = JSON.parse(text);
    const attempts = a.map((fields: Json[], index: number) => ({
      ...decodeAttempt(fields),
      connect_ms: k?.[index + 1] ?? null,
      cooldown_ms: w?.[index] ?? null,
      response_headers: decodeHeaders(r?.[index], RESPONSE_HEADERS),
    }));
    const facts = { check_ms: k?.[0] ?? null, request_headers: decodeHeaders(h, REQUEST_HEADERS) };
    const tier = v ? { name: v[0], isAssumed: v[1] === 1 } : null;
    return { session: s, policy: p, candidates: c, attempts, dropped, ...facts, charge: u, tier };
  } catch {
    return undefined;
  }
}

function decodeAttempt(fields: Json[]): Omit<StoredAttempt, 'connect_ms' | 'cooldown_ms' | 'response_headers'> {
  const [endpoint, path, started, first, total, status, credential, error, note, dropped] = fields;
  return {
    endpoint,
    credential: credential ?? null,
    path,
    started_ms: started,
    first_byte_ms: first ?? null,
    total_ms: total,
    status: status ?? null,
    error: error ?? null,
    dropped: dropped ?? [],
    note: note ?? null,
  };
}
