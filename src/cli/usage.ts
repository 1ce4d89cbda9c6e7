/** `polygate usage`: usage report from the store, whether or not a gateway runs on it. */

import { loadConfig } from '../config/load.ts';
import type { Config } from '../config/resolved.ts';
import { parseDuration } from '../config/units.ts';
import { systemClock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import { defined } from '../core/plain-objects.ts';
import { hasPrice } from '../routing/model-directory.ts';
import { openStore } from '../store/open.ts';
import type { Store } from '../store/store.ts';
import type { UseRow } from '../usage/use-groups.ts';
import { readUseQuery, USE_DIMENSIONS } from '../usage/use-query.ts';
import { reportUse, type UseReport } from '../usage/use-report.ts';
import { offlineModels } from './discovery.ts';
import { type ConfigOptions, configSource } from './source.ts';
import { printJson, printTable } from './table.ts';

export interface UsageOptions extends ConfigOptions {
  by?: string;
  /** ISO date or time, or a duration before now. */
  from?: string;
  to?: string;
  /** Time zone of days, weeks and months. */
  zone?: string;
  /** Id or name. */
  key?: string;
  json?: boolean;
}

const COUNTS = ['requests', 'failures', 'partial', 'input_tokens', 'output_tokens', 'cached_tokens', 'cost'] as const;
/** No tag has it for a value. */
const WITHOUT_VALUE = '(none)';
const UNKNOWN = 'unknown';
const COUNT_HEADINGS = ['REQUESTS', 'FAILED', 'PARTIAL', 'INPUT', 'OUTPUT', 'CACHED', 'USD'];

export async function showUsage(options: UsageOptions): Promise<void> {
  const config = loadConfig(configSource(options));
  const now = systemClock.now();
  const asked = defined({ from: resolveFrom(options.from, now), to: options.to, by: options.by, zone: options.zone });
  const query = readUseQuery(new URLSearchParams(asked), now, USE_DIMENSIONS);
  const store = await openStore({ ...config, role: 'guest' });
  try {
    const names = await keyNames(store, config);
    if (options.key !== undefined) query.filter.keyId = findKeyId(options.key, names);
    const directory = await offlineModels(config);
    const report = await reportUse(store, query, { names, hasPrice: (model) => hasPrice(directory, model) });
    const data = report.data.map(withKeyName);
    if (options.json) printJson({ ...report, data });
    else {
      const rows = data.map((row) => [...query.by.map((name) => row[name] ?? WITHOUT_VALUE), ...cells(row)]);
      const total = [...query.by.map((_, index) => (index === 0 ? 'total' : '')), ...cells(report.total)];
      printTable([...query.by.map((name) => name.toUpperCase()), ...COUNT_HEADINGS], [...rows, total]);
      noteEstimates(report);
      noteUnknownCost(report);
    }
  } finally {
    await store.close();
  }
}

/** Writes a note about estimates to standard error, so that the table can be piped. */
function noteEstimates({ total }: UseReport): void {
  const tokens = shareOf(total.estimated_tokens, total.input_tokens + total.output_tokens);
  if (tokens === undefined) return;
  const cost = shareOf(Number(total.estimated_cost), Number(total.cost ?? 0)) ?? '0 %';
  const { requests, assessed } = total;
  const since = assessed < requests ? `, as far as is known of ${assessed} of ${requests} requests` : '';
  process.stderr.write(`Estimated are ${tokens} of the tokens and ${cost} of the cost${since}.\n`);
}

/** Percentage as text; undefined for zero. */
function shareOf(part: number, whole: number): string | undefined {
  if (part === 0 || whole === 0) return undefined;
  const percent = (100 * part) / whole;
  return percent < 0.1 ? 'less than 0.1 %' : `${percent.toFixed(1)} %`;
}

/** Writes a note about models without a known price to standard error. */
function noteUnknownCost({ models_without_price: models }: UseReport): void {
  if (models.length === 0) return;
  process.stderr.write(`Not in these sums is the cost of models without a known price: ${models.join(', ')}.\n`);
}

function resolveFrom(from: string | undefined, now: number): string | undefined {
  if (from === undefined) return undefined;
  const duration = parseDuration(from);
  if (duration !== undefined) return new Date(now - duration).toISOString();
  if (Number.isNaN(Date.parse(from)))
    throw new Error('--from must be an ISO date or time such as 2026-11-21T08:00Z, or how long ago such as 7d.');
  return from;
}

/** Key names by id, including revoked keys and keys of the configuration. */
async function keyNames(store: Store, { keys }: Config): Promise<ReadonlyMap<string, string>> {
  const stored = await store.call('readKeys', {});
  return new Map([
    ...stored.map(({ id, name }): [string, string] => [id, name]),
    ...keys.map(({ name }): [string, string] => [`config:${name}`, name]),
  ]);
}

/** Usage of keys that were removed from the configuration is found by their id. */
function findKeyId(idOrName: string, names: ReadonlyMap<string, string>): string {
  if (names.has(idOrName) || idOrName.startsWith('config:')) return idOrName;
  const [found, another] = [...names].filter(([, name]) => name === idOrName).map(([id]) => id);
  if (found === undefined) throw new GatewayError('not_found', `There is no key with the id or name "${idOrName}".`);
  if (another === undefined) return found;
  throw new GatewayError('invalid_request', `Several keys are named "${idOrName}"; give the id of one.`);
}

/** A key that is not known any more has its id for a name. */
function withKeyName({ key_name: name, ...row }: UseRow): UseRow {
  return row.key === undefined ? row : { ...row, key: name ?? row.key };
}

function cells(counts: UseReport['total']): string[] {
  return COUNTS.map((name) => String(counts[name] ?? UNKNOWN));
}
