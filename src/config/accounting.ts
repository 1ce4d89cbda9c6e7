/** Resolved settings of usage records, limits, the admin API and telemetry. */

import { resolve } from 'node:path';
import { withoutEnd } from '../core/text.ts';
import type { Allotment, KeyDefaults, KeySettings, Limits, SharedAllotments } from '../records/key-settings.ts';
import { parseTag, type Tags, tagProblems } from '../records/tags.ts';
import { Secret } from '../security/secret.ts';
import {
  type AdminEntry,
  type AllotmentEntry,
  ACCOUNTING_DEFAULTS as DEFAULTS,
  type LimitsEntry,
  type TelemetryEntry,
  type UiEntry,
  type UsageEntry,
} from './accounting-schema.ts';
import type { AdminConfig, TelemetryConfig, UiConfig, UsageConfig, UsageExportConfig } from './resolved.ts';
import type { ConfigFile, KeyEntry } from './schema.ts';
import { parseDuration, parseSize } from './units.ts';
import { type ReportProblem, resolveS3 } from './videos.ts';

export function resolveUsage(entry: UsageEntry, report: ReportProblem): UsageConfig {
  return {
    durability: entry.durability ?? DEFAULTS.durability,
    journal: entry.journal ?? DEFAULTS.journal,
    keep: parseDuration(entry.keep ?? DEFAULTS.keep) as number,
    maxSize: parseSize(entry.max_size ?? DEFAULTS.maxSize) as number,
    ...(entry.export && { export: resolveExport(entry.export, report) }),
    trace: entry.trace ?? DEFAULTS.trace,
  };
}

function resolveExport(
  { folder, s3 }: NonNullable<UsageEntry['export']>,
  report: ReportProblem,
): UsageExportConfig | undefined {
  if (folder !== undefined && s3) report('usage.export.s3', 'conflicts with folder; set only one of them');
  else if (folder !== undefined) return { type: 'folder', folder: resolve(folder) };
  else if (s3) return { type: 's3', ...resolveS3(s3) };
  else report('usage.export', 'needs folder or s3');
  return undefined;
}

export function resolveAdmin(entry: AdminEntry): AdminConfig | undefined {
  if (!entry.token) return undefined;
  const { host, port, public_url: publicUrl } = entry;
  return {
    token: new Secret(entry.token),
    host: host ?? DEFAULTS.adminHost,
    port: port ?? DEFAULTS.adminPort,
    ...(publicUrl && { publicUrl: withoutEnd(publicUrl, '/') }),
  };
}

export function resolveUi({ enabled, admin_on_public: adminOnPublic, capture }: UiEntry): UiConfig {
  return {
    enabled: enabled ?? DEFAULTS.ui,
    adminOnPublic: adminOnPublic ?? DEFAULTS.uiAdminOnPublic,
    capture: capture ?? DEFAULTS.uiCapture,
  };
}

export function resolveTelemetry({ otlp, propagate, budget_keys: budgetKeys }: TelemetryEntry): TelemetryConfig {
  const headers = Object.entries(otlp?.headers ?? {}).map(([name, value]) => [name, new Secret(value)]);
  return {
    otlp: otlp ? { endpoint: withoutEnd(otlp.endpoint, '/'), headers: Object.fromEntries(headers) } : undefined,
    propagate: propagate ?? false,
    budgetKeys: budgetKeys ?? [],
  };
}

function resolveLimits(entry: LimitsEntry): Limits {
  return withoutNulls({
    requestsPerMinute: entry.requests_per_minute,
    tokensPerMinute: entry.tokens_per_minute,
    concurrentRequests: entry.concurrent_requests,
  });
}

/** `limits` stands for `key_defaults.limits`. */
export function resolveAllotments(file: ConfigFile, report: ReportProblem): SharedAllotments {
  const { limits, key_defaults: keyDefaults = {}, tags } = file;
  if (limits && keyDefaults?.limits) report('limits', 'conflicts with key_defaults.limits; set only one of them');
  for (const { path, message } of tagProblems(keyDefaults?.tags)) report(`key_defaults.${path}`, message);
  const entries = Object.entries(tags ?? {});
  for (const [tag] of entries) {
    if (!parseTag(tag)) report(`tags.${tag}`, 'is not a tag such as team=search');
  }
  return {
    keyDefaults: {
      ...resolveAllotment({ ...keyDefaults, ...(limits && { limits }) }),
      ...(keyDefaults?.tags && { tags: withoutNulls<Tags>(keyDefaults.tags) }),
    },
    tags: new Map(entries.map(([tag, entry]) => [tag, resolveAllotment(entry ?? {})])),
  };
}

function resolveAllotment({ limits, budgets }: AllotmentEntry): Allotment {
  return {
    ...(limits && { limits: resolveLimits(limits) }),
    ...(budgets && { budgets: withoutNulls(budgets) }),
  };
}

export function resolveKeySettings(entry: KeyEntry, keyDefaults: KeyDefaults): KeySettings {
  const { tags } = keyDefaults;
  const modelLimits = Object.entries(entry.model_limits ?? {}).map(([glob, limits]) => [glob, resolveLimits(limits)]);
  return withoutNulls({
    owner: entry.owner,
    tags: entry.tags || tags ? withoutNulls<Tags>({ ...tags, ...entry.tags }) : undefined,
    metadata: entry.metadata ? withoutNulls(entry.metadata) : undefined,
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
