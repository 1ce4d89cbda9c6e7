/** Resolved settings of usage records, limits, the admin API and telemetry. */

import { withoutEnd } from '../core/text.ts';
import type { KeySettings, Limits } from '../records/key-settings.ts';
import { Secret } from '../security/secret.ts';
import {
  type AdminEntry,
  ACCOUNTING_DEFAULTS as DEFAULTS,
  type LimitsEntry,
  type TelemetryEntry,
  type UsageEntry,
} from './accounting-schema.ts';
import type { AdminConfig, TelemetryConfig, UsageConfig } from './resolved.ts';
import type { KeyEntry } from './schema.ts';
import { parseDuration, parseSize } from './units.ts';

export function resolveUsage(entry: UsageEntry): UsageConfig {
  return {
    durability: entry.durability ?? DEFAULTS.durability,
    journal: entry.journal ?? DEFAULTS.journal,
    keep: parseDuration(entry.keep ?? DEFAULTS.keep) as number,
    maxSize: parseSize(entry.max_size ?? DEFAULTS.maxSize) as number,
  };
}

export function resolveAdmin(entry: AdminEntry): AdminConfig | undefined {
  if (!entry.token) return undefined;
  const { host, port } = entry;
  return { token: new Secret(entry.token), host: host ?? DEFAULTS.adminHost, port: port ?? DEFAULTS.adminPort };
}

export function resolveTelemetry({ otlp, propagate }: TelemetryEntry): TelemetryConfig {
  const headers = Object.entries(otlp?.headers ?? {}).map(([name, value]) => [name, new Secret(value)]);
  return {
    otlp: otlp ? { endpoint: withoutEnd(otlp.endpoint, '/'), headers: Object.fromEntries(headers) } : undefined,
    propagate: propagate ?? false,
  };
}

export function resolveLimits(entry: LimitsEntry): Limits {
  return withoutNulls({
    requestsPerMinute: entry.requests_per_minute,
    tokensPerMinute: entry.tokens_per_minute,
    concurrentRequests: entry.concurrent_requests,
  });
}

export function resolveKeySettings(entry: KeyEntry): KeySettings {
  const modelLimits = Object.entries(entry.model_limits ?? {}).map(([glob, limits]) => [glob, resolveLimits(limits)]);
  return withoutNulls({
    models: entry.models,
    surfaces: entry.surfaces,
    readOnly: entry.read_only,
    storeResponses: entry.store_responses,
    cidrs: entry.cidrs,
    limits: entry.limits ? resolveLimits(entry.limits) : undefined,
    modelLimits: modelLimits.length > 0 ? Object.fromEntries(modelLimits) : undefined,
    budgets: entry.budgets ? withoutNulls(entry.budgets) : undefined,
  });
}

function withoutNulls<Value extends object>(value: { [Name in keyof Value]: Value[Name] | null | undefined }): Value {
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner != null)) as Value;
}
