/** Endpoints as a gateway knows them, as a snapshot that others read, and as all gateways together do. */

import type { AttemptCounts, AttemptHistory, ToldLimit } from '../../routing/attempt-log.ts';
import { type EndpointHealth, endpointHealth } from '../../routing/endpoint-health.ts';
import type { ModelDirectory } from '../../routing/model-directory.ts';
import type { RoutingState } from '../../routing/state.ts';
import type { EncodedFailure, EncodedLimit, EncodedTimings, MergedEndpoint } from './operation-schema.ts';

export interface EndpointRow {
  endpoint: string;
  /** Number of the credential; its id is derived from the credential, and stays in this process. */
  credential: number | null;
  /** Number of credentials of the provider. */
  credentials: number | null;
  state: EndpointHealth['state'];
  cause?: string;
  cooldown_ms?: number;
  credential_cooldown_ms?: number;
  streamed?: EncodedTimings;
  whole?: EncodedTimings;
  /** Attempts and failures in turn, of the newest span first, without those at the end that are zero. */
  minutes: number[];
  /** In the form of `minutes`, by half hours. */
  half_hours: number[];
  last_failures: EncodedFailure[];
  limits: EncodedLimit[];
}

/** Rows as a gateway knew them at a time, in Unix milliseconds. */
export interface KnownEndpoints {
  instance: string;
  at: number;
  /** Dead or stopped: its counts stay true, its states do not. */
  isGone: boolean;
  rows: EndpointRow[];
}

export interface EndpointSource {
  routing: RoutingState;
  models(): Pick<ModelDirectory, 'providers'>;
}

const MINUTE_MS = 60_000;
const MINUTES = 60;
const HALF_HOURS = 48;
const MAX_FAILURES = 5;
/** Time over which latencies are measured. */
const TIMINGS_MS = 5 * MINUTE_MS;
const MAX_SNAPSHOT_BYTES = 64 * 1024;
/** Version of the snapshot format; snapshots of other versions are ignored. */
const FORMAT_VERSION = 1;

/** Rows of the endpoints as this process sees them; `now` in Unix milliseconds. */
export function endpointRows({ routing, models }: EndpointSource, now: number): EndpointRow[] {
  return endpointHealth(routing).map((health) => rowOf(health, models(), now));
}

function rowOf(
  { id, state, cause, cooldownMs, streamed, whole, history, limits }: EndpointHealth,
  { providers }: Pick<ModelDirectory, 'providers'>,
  now: number,
): EndpointRow {
  const [endpoint = '', credentialId] = splitAtLast(id, '#');
  const [provider = ''] = endpoint.split('/', 1);
  const credentials = providers.get(provider)?.credentials;
  const credential = credentials?.find(credentialId ?? '');
  const credentialCooldownMs = credential?.cooldown() ?? 0;
  return {
    endpoint,
    credential: credential?.number ?? null,
    credentials: credentials?.all().length ?? null,
    state,
    ...(cause !== undefined && { cause }),
    ...(credentialCooldownMs > 0 && { credential_cooldown_ms: Math.ceil(credentialCooldownMs) }),
    ...(cooldownMs !== undefined && { cooldown_ms: cooldownMs }),
    ...(streamed && { streamed: encodeTimings(streamed) }),
    ...(whole && { whole: encodeTimings(whole) }),
    minutes: flatOf(history?.minutes ?? []),
    half_hours: flatOf(history?.halfHours ?? []),
    last_failures: (history?.lastFailures ?? []).map((failure) => encodeFailure(failure, now)),
    limits: limits.map((limit) => encodeLimit(limit, now)),
  };
}

function encodeTimings({ firstByte, throughput }: NonNullable<EndpointHealth['whole']>): EncodedTimings {
  return { first_byte_seconds: firstByte, ...(throughput && { tokens_per_second: throughput }) };
}

function encodeFailure({ code, millisecondsAgo }: AttemptHistory['lastFailures'][number], now: number): EncodedFailure {
  return { code, at: new Date(now - millisecondsAgo).toISOString() };
}

function encodeLimit({ kind, limit, remaining, reset, millisecondsAgo }: ToldLimit, now: number): EncodedLimit {
  const told = { limit: limit ?? null, remaining: remaining ?? null, reset: reset ?? null };
  return { kind: kind.replace('-', '_'), ...told, told_at: new Date(now - millisecondsAgo).toISOString() };
}

/** Parts before and behind the last mark. */
export function splitAtLast(text: string, mark: string): string[] {
  const at = text.lastIndexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + mark.length)];
}

function flatOf(counts: readonly AttemptCounts[]): number[] {
  const numbers = counts.toReversed().flatMap(({ attempts, failed }) => [attempts, failed]);
  return numbers.slice(0, numbers.findLastIndex((number) => number > 0) + 1);
}

/** JSON text of bounded length: of the endpoints that were used most lately, as many as there is room for. */
export function snapshotOf(rows: readonly EndpointRow[]): string {
  const texts: string[] = [];
  let room = MAX_SNAPSHOT_BYTES;
  const idle = ({ minutes, half_hours: halfHours }: EndpointRow) =>
    [minutes, halfHours].map((all) => all.findIndex((count) => count > 0) >>> 0);
  const [byUse, order] = [rows.map((row) => ({ row, idle: idle(row) })), [0, 1]];
  byUse.sort((one, other) => order.reduce((so, at) => so || (one.idle[at] ?? 0) - (other.idle[at] ?? 0), 0));
  for (const { row } of byUse) {
    const text = JSON.stringify(row);
    room -= Buffer.byteLength(text) + 1;
    if (room < 0) break;
    texts.push(text);
  }
  return `{"form":${FORMAT_VERSION},"rows":[${texts.join(',')}]}`;
}

/** Undefined where another version wrote it in another form. */
export function readSnapshot(text: string): EndpointRow[] | undefined {
  const { form, rows } = JSON.parse(text);
  return form === FORMAT_VERSION ? rows : undefined;
}

/** One row for each endpoint and credential: counts added up, and the worst state with the gateway that says so. */
export function mergeEndpoints(known: readonly KnownEndpoints[], now: number): MergedEndpoint[] {
  const all = known.flatMap(({ rows, ...gateway }) => rows.map((row) => agedRow(row, gateway, now)));
  const groups = Map.groupBy(all, ({ row: { endpoint, credential } }) => `${endpoint} ${credential}`);
  return [...groups]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([, group]) => mergeGroup(group, now) ?? []);
}

interface AgedRow {
  row: EndpointRow;
  gateway: Omit<KnownEndpoints, 'rows'>;
}

/** Adjusts a row to the time that has passed since the gateway wrote it. */
function agedRow(row: EndpointRow, gateway: AgedRow['gateway'], now: number): AgedRow {
  const age = Math.max(0, now - gateway.at);
  const { cooldown_ms: cooldown, credential_cooldown_ms: credentialCooldown, streamed, whole, ...kept } = row;
  const left = cooldown === undefined ? 0 : cooldown - age;
  const aged: EndpointRow = {
    ...kept,
    ...(row.state === 'open' && left <= 0 && { state: 'half-open' as const }),
    ...(left > 0 && { cooldown_ms: left }),
    ...(credentialCooldown !== undefined &&
      credentialCooldown > age && { credential_cooldown_ms: credentialCooldown - age }),
    ...(age < TIMINGS_MS && { ...(streamed && { streamed }), ...(whole && { whole }) }),
    minutes: later(row.minutes, Math.floor(age / MINUTE_MS), MINUTES),
    half_hours: later(row.half_hours, Math.floor(age / (30 * MINUTE_MS)), HALF_HOURS),
    last_failures: row.last_failures.filter(({ at }) => now - Date.parse(at) < HALF_HOURS * 30 * MINUTE_MS),
  };
  return { row: gateway.isGone ? { ...aged, ...FORGOTTEN } : aged, gateway };
}

/** A gateway that is gone keeps no endpoint in cooldown. */
const FORGOTTEN = {
  state: 'closed' as const,
  cause: undefined,
  cooldown_ms: undefined,
  credential_cooldown_ms: undefined,
};

function later(flat: readonly number[], spans: number, size: number): number[] {
  return [...new Array<number>(2 * Math.min(spans, size)).fill(0), ...flat].slice(0, 2 * size);
}

function mergeGroup(group: readonly AgedRow[], now: number): MergedEndpoint | undefined {
  const [worst] = group.toSorted((one, other) => badnessOf(other.row) - badnessOf(one.row));
  const [busiest] = group
    .filter(({ row }) => row.streamed || row.whole)
    .toSorted((one, other) => attemptsOf(other.row.minutes.slice(0, 10)) - attemptsOf(one.row.minutes.slice(0, 10)));
  if (!worst) return undefined;
  const [minutes, halfHours] = [sumOf(group, 'minutes', MINUTES), sumOf(group, 'half_hours', HALF_HOURS)];
  const isUsed = attemptsOf(halfHours) > 0;
  const { endpoint, credential, credentials, state, cause, cooldown_ms: cooldown } = worst.row;
  if (!isUsed && !cause && !busiest) return undefined;
  const credentialCooldown = Math.max(...group.map(({ row }) => row.credential_cooldown_ms ?? 0));
  const { streamed, whole } = busiest?.row ?? {};
  const failures = group.flatMap(({ row }) => row.last_failures);
  return {
    endpoint,
    credential,
    credentials,
    state,
    ...(cause !== undefined && { cause }),
    ...(credentialCooldown > 0 && { credential_cooldown_ms: credentialCooldown }),
    ...(cooldown !== undefined && { cooldown_ms: cooldown }),
    ...(streamed && { streamed }),
    ...(whole && { whole }),
    ...(isUsed && {
      history: {
        last_5_minutes: countsOf(minutes.slice(0, 10)),
        last_hour: countsOf(minutes),
        last_day: countsOf(halfHours),
        half_hours: pairsOf(halfHours).toReversed(),
        last_failures: failures.toSorted((one, other) => (one.at < other.at ? 1 : -1)).slice(0, MAX_FAILURES),
      },
    }),
    limits: newestLimits(group, now),
    told_by: worst.gateway.instance,
    gateways: group.map(({ row, gateway }) => ({
      id: gateway.instance,
      ...(gateway.isGone ? { state: null } : { state: row.state, cause: row.cause, cooldown_ms: row.cooldown_ms }),
      last_5_minutes: countsOf(row.minutes.slice(0, 10)),
      last_day: countsOf(row.half_hours),
    })),
  };
}

function badnessOf({ state, cause, cooldown_ms: cooldown = 0 }: EndpointRow): number {
  if (state === 'open') return 3 + cooldown;
  if (state === 'half-open') return 2;
  return cause === undefined ? 0 : 1;
}

function newestLimits(group: readonly AgedRow[], now: number): EncodedLimit[] {
  const told = group
    .flatMap(({ row }) => row.limits)
    .filter(({ told_at: at }) => now - Date.parse(at) < HALF_HOURS * 30 * MINUTE_MS);
  const newest = new Map(
    told.toSorted((one, other) => (one.told_at < other.told_at ? -1 : 1)).map((one) => [one.kind, one]),
  );
  return [...newest.values()];
}

function sumOf(group: readonly AgedRow[], name: 'minutes' | 'half_hours', size: number): number[] {
  const sums = new Array<number>(2 * size).fill(0);
  for (const { row } of group) for (const [at, count] of row[name].entries()) sums[at] = (sums[at] ?? 0) + count;
  return sums;
}

function pairsOf(flat: readonly number[]): AttemptCounts[] {
  return Array.from({ length: Math.ceil(flat.length / 2) }, (_, index) => ({
    attempts: flat[2 * index] ?? 0,
    failed: flat[2 * index + 1] ?? 0,
  }));
}

function countsOf(flat: readonly number[]): AttemptCounts {
  const sum = { attempts: 0, failed: 0 };
  for (const { attempts, failed } of pairsOf(flat)) {
    sum.attempts += attempts;
    sum.failed += failed;
  }
  return sum;
}

function attemptsOf(flat: readonly number[]): number {
  return countsOf(flat).attempts;
}
