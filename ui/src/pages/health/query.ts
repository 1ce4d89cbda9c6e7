/** Health of endpoints, as all gateways of the store know it, and of gateways. */

import { queryOptions } from '@tanstack/react-query';
import { api, bodyOf } from '../../api.ts';

export interface Timings {
  first_byte_seconds: { p50: number; p95: number };
  tokens_per_second?: { p50: number; p90: number };
}

export interface Counts {
  attempts: number;
  failed: number;
}

export interface Endpoint {
  endpoint: string;
  credential: number | null;
  /** Number that the provider has; null of one that is no longer configured. */
  credentials: number | null;
  state: string;
  cause?: string;
  cooldown_ms?: number;
  credential_cooldown_ms?: number;
  streamed?: Timings;
  whole?: Timings;
  history?: {
    last_5_minutes: Counts;
    last_hour: Counts;
    last_day: Counts;
    /** 48, oldest first. */
    half_hours: Counts[];
    /** At most five, newest first. */
    last_failures: { code: string; at: string }[];
  };
  /** Facts of the account that the upstream told in its headers. */
  limits: { kind: string; limit: number | null; remaining: number | null; reset: string | null; told_at: string }[];
  /** The gateway whose state it is: the worst. */
  told_by: string;
  gateways: {
    id: string;
    /** Null of one that is gone: its counts alone are here. */
    state: string | null;
    cause?: string;
    cooldown_ms?: number;
    last_5_minutes: Counts;
    last_day: Counts;
  }[];
}

/** Name of a row in the address of the page: of several credentials each has one, and one that is no longer configured. */
export function nameOf({ endpoint, credential, credentials }: Endpoint): string {
  if (credentials === null || (credentials === 1 && credential === 1)) return endpoint;
  return `${endpoint}#${credential ?? 'gone'}`;
}

export const providerOf = ({ endpoint }: Pick<Endpoint, 'endpoint'>): string =>
  endpoint.slice(0, endpoint.indexOf('/'));

export interface EndpointList {
  data: Endpoint[];
  /** Whether the store told what other gateways know. */
  complete: boolean;
  gateways: { id: string; answers: boolean; gone: boolean; known_at: string; endpoints: number }[];
}

export interface Replica {
  id: string;
  role: string;
  version: string | null;
  started_at: string;
  /** Its last sign. */
  seen_at: string;
  /** Whether it missed signs, and may be dead. */
  silent: boolean;
  alive_until: string;
  /** Whether it is the one that answered. */
  answers: boolean;
}

export interface Replicas {
  data: Replica[];
  engine: 'sqlite' | 'postgres';
}

export const ENGINES = { sqlite: 'SQLite', postgres: 'PostgreSQL' };

export const EVERY_MS = 5000;

export const endpointHealth = queryOptions({
  queryKey: ['health', 'endpoints'],
  refetchInterval: EVERY_MS,
  queryFn: ({ signal }) => bodyOf<EndpointList>(api.GET('/admin/v1/health/endpoints', { signal })),
});

/** Models that are shown of an endpoint. */
const MAX_MODELS = 20;

export interface ServedModels {
  data: { id: string; aliases: string[] }[];
  total: number;
}

/** Models that have an endpoint. */
export const servedModels = (endpoint: string) =>
  queryOptions({
    queryKey: ['health', 'models', endpoint],
    queryFn: ({ signal }) =>
      bodyOf<ServedModels>(api.GET('/admin/v1/models', { params: { query: { endpoint, limit: MAX_MODELS } }, signal })),
  });

export const replicaList = queryOptions({
  queryKey: ['health', 'replicas'],
  queryFn: ({ signal }) => bodyOf<Replicas>(api.GET('/admin/v1/health/replicas', { signal })),
});
