/** Stored trace: how a request was routed, as short JSON beside its usage record. */

import type { Json } from '../core/json/json.ts';
import { shortened } from '../core/lengths.ts';
import type { Attempt } from './attempt.ts';
import type { RoutingDecision } from './decision.ts';
import type { InferenceCall } from './inference-call.ts';
import { NO_POLICY } from './policy.ts';
import { type TracedCandidate, traceOf } from './trace.ts';

/** `problems`: requests that did not complete, were tried again, or lost fields. */
export type TraceChoice = 'all' | 'problems' | 'none';

export interface TracedRequest {
  call: Pick<InferenceCall, 'headers'>;
  route: RoutingDecision;
  attempts: readonly Attempt[];
  /** Milliseconds from the start of the request to that of each attempt. */
  begins: readonly number[];
  isComplete: boolean;
}

export interface StoredAttempt {
  endpoint: string;
  credential: number | null;
  path: string;
  /** Milliseconds from the start of the request. */
  started_ms: number;
  first_byte_ms: number | null;
  total_ms: number;
  status: number | null;
  error: string | null;
  dropped: string[];
  note: string | null;
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
  /** Lines of the cost, encoded, or a word for another basis; null where that was not kept. */
  charge: string | null;
}

const MAX_BYTES = 4096;
const MAX_NAME_CHARACTERS = 200;
const MAX_DROPPED = 20;
/** Names of conversations, as clients and coding agents send them; the first one counts. */
const SESSION_HEADERS = [
  'x-session-id',
  'x-litellm-session-id',
  'x-claude-code-session-id',
  'session-id',
  'session_id',
  'conversation_id',
  'thread-id',
];
/** Text that JSON writes as it is. */
const PLAIN_NAME = /^[\w./:@+-]{1,200}$/;

/** Undefined if the choice leaves the request out. */
export function storedTraceOf(request: TracedRequest, choice: TraceChoice): string | undefined {
  const { call, route, attempts, isComplete } = request;
  const [only] = attempts;
  const isPlain = isComplete && attempts.length === 1 && only !== undefined && only.dropped.length === 0;
  if (choice === 'none' || (choice === 'problems' && isPlain)) return undefined;
  const { candidates, excluded, policy } = route;
  const hadChoice = candidates.length > 1 || excluded.length > 0 || policy !== NO_POLICY;
  if (isPlain && !hadChoice && sessionOf(call) === undefined) return plainTrace(only, request.begins[0]);
  return fullTrace(request, hadChoice);
}

function sessionOf({ headers }: TracedRequest['call']): Json {
  for (const name of SESSION_HEADERS) if (headers[name] !== undefined) return headers[name];
  return undefined;
}

/** The usual case, written by hand: one endpoint answered. */
function plainTrace(attempt: Attempt, begin = 0): string | undefined {
  const { endpoint, path, firstByte, milliseconds, status, credential, note, error } = attempt;
  if (note !== undefined || error !== undefined || !PLAIN_NAME.test(endpoint)) return attemptOnly(attempt, begin);
  const first = firstByte === undefined ? 'null' : Math.round(firstByte);
  const tail = credential === undefined ? '' : `,${credential}`;
  return `{"a":[["${endpoint}","${path}",${Math.round(begin)},${first},${Math.round(milliseconds)},${status ?? 'null'}${tail}]]}`;
}

function attemptOnly(attempt: Attempt, begin: number): string {
  return JSON.stringify({ a: [encodeAttempt(attempt, begin)] });
}

function fullTrace({ call, route, attempts, begins }: TracedRequest, hadChoice: boolean): string {
  const session = sessionOf(call);
  const dropped = (attempts.at(-1)?.dropped ?? []).slice(0, MAX_DROPPED).map(bounded);
  const decision = traceOf(route, []);
  const trace = {
    ...(session !== undefined && { s: bounded(String(session)) }),
    ...(route.policy !== NO_POLICY && { p: decision.policy }),
    ...(dropped.length > 0 && { dropped }),
    a: attempts.map((attempt, index) => encodeAttempt(attempt, begins[index] ?? 0)),
  };
  const candidates = hadChoice ? decision.candidates : [];
  for (let count = candidates.length; ; count = Math.floor(count / 2)) {
    const text = JSON.stringify(count > 0 ? { ...trace, c: candidates.slice(0, count).map(boundedCandidate) } : trace);
    if (Buffer.byteLength(text) <= MAX_BYTES) return text;
    if (count === 0) break;
  }
  const few = attempts
    .slice(0, 8)
    .map((attempt, index) => encodeAttempt({ ...attempt, dropped: [] }, begins[index] ?? 0));
  const short = JSON.stringify({ a: few.map((fields) => fields.slice(0, 7)) });
  return Buffer.byteLength(short) <= MAX_BYTES ? short : '{"a":[]}';
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

/** Also without NUL, which PostgreSQL cannot store, even as an escape in text that it would read as JSON. */
function bounded(text: string): string {
  return shortened(text, MAX_NAME_CHARACTERS).replaceAll('\0', '');
}

/** Undefined for a record without a trace, and for one that this version cannot read. */
export function decodeStoredTrace(text: string | null | undefined): StoredTrace | undefined {
  if (!text) return undefined;
  try {
    const { s = null, p = null, c = [], a = [], dropped = [], u = null } = JSON.parse(text);
    return { session: s, policy: p, candidates: c, attempts: a.map(decodeAttempt), dropped, charge: u };
  } catch {
    return undefined;
  }
}

function decodeAttempt(fields: Json[]): StoredAttempt {
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
