/** `polygate tail`: prints requests as they end, one line each, from the store, so that it works beside a gateway. */

import { loadConfig } from '../config/load.ts';
import { sleep, systemClock } from '../core/clock.ts';
import { decimalOf } from '../core/money.ts';
import { hasPrice } from '../routing/model-directory.ts';
import type { RequestFilter } from '../store/operations/requests.ts';
import type { Store } from '../store/store.ts';
import { knownCostOf } from '../usage/report.ts';
import { newestRequests, type RequestPage, requestsSince } from '../usage/request-search.ts';
import { offlineModels } from './discovery.ts';
import { withKeys } from './keys.ts';
import { type ConfigOptions, configSource } from './source.ts';

export interface TailOptions extends ConfigOptions {
  /** Id or name. */
  key?: string;
  model?: string;
  failed?: boolean;
  /** Requests before that are printed first. */
  limit: number;
  once?: boolean;
  json?: boolean;
}

type Row = RequestPage['rows'][number];

/** Facts that records leave out. */
interface LineContext {
  names: ReadonlyMap<string, string>;
  /** Whether a model, `<provider>/<model id>`, has a price. */
  hasPrice(model: string): boolean;
}

const INTERVAL_MS = 1000;
const EVER = { from: 0, to: Number.MAX_SAFE_INTEGER };

/** Ends with `once`, by a signal, or when its output is closed. */
export async function tail({ key, model, failed, limit, once, json, ...options }: TailOptions): Promise<void> {
  const stopped = new AbortController();
  process.once('SIGINT', () => stopped.abort());
  process.once('SIGTERM', () => stopped.abort());
  // Its reader, such as `head`, has left.
  process.stdout.once('error', () => stopped.abort());
  const config = loadConfig(configSource(options));
  const models = await offlineModels(config);
  await withKeys(config, async ({ keys, store }) => {
    const names = await keys.names();
    const context: LineContext = { names, hasPrice: (name) => hasPrice(models, name) };
    const filter: RequestFilter = {
      ...(key !== undefined && { keyId: (await keys.find(key)).id }),
      ...(model !== undefined && { model }),
      ...(failed && { hasFailed: true }),
    };
    const print = (rows: readonly Row[]) => {
      const lines = rows.map((row) => (json ? jsonLine(row, context) : textLine(row, context)));
      if (lines.length > 0) process.stdout.write(`${lines.join('\n')}\n`);
    };
    await follow(store, filter, { limit, once: once === true, stopped: stopped.signal, print });
  });
}

interface Following {
  limit: number;
  once: boolean;
  stopped: AbortSignal;
  print(rows: readonly Row[]): void;
}

async function follow(
  store: Pick<Store, 'call'>,
  filter: RequestFilter,
  { limit, once, stopped, print }: Following,
): Promise<void> {
  const options = { store, clock: systemClock };
  const first = await newestRequests({ filter, ...EVER, limit }, options);
  print(first.rows.toReversed());
  let live = first.live ?? '';
  while (!once && !stopped.aborted) {
    await sleep(systemClock, INTERVAL_MS, stopped);
    const page = await requestsSince({ filter, live }, options);
    live = page.live;
    print(page.rows);
  }
}

/** Texts of clients have no control characters left that a terminal would obey. */
function textLine(row: Row, context: LineContext): string {
  const { time, key, model, status, error, cost, ms } = factsOf(row, context);
  const tokens = `${row.input_tokens}/${row.output_tokens}`;
  const outcome = error === null ? status : `${status}: ${error}`;
  const facts = [
    time,
    key,
    model,
    outcome,
    tokens,
    cost === null ? 'unknown cost' : `$${cost}`,
    `${ms} ms`,
    ...toolFailures(row),
    row.id,
  ];
  return facts.map(visible).join('  ');
}

function jsonLine(row: Row, context: LineContext): string {
  const { time, key, model, status, error, cost, ms } = factsOf(row, context);
  const tokens = { input_tokens: Number(row.input_tokens), output_tokens: Number(row.output_tokens) };
  return JSON.stringify({
    id: row.id,
    ended_at: time,
    key,
    model,
    status,
    error_code: error,
    ...tokens,
    tool_failures: row.tool_failures == null ? null : Number(row.tool_failures),
    cost,
    total_ms: ms,
  });
}

function toolFailures({ tool_failures: count }: Row): string[] {
  const failed = Number(count ?? 0);
  return failed === 0 ? [] : [`${failed} ${failed === 1 ? 'tool' : 'tools'} failed`];
}

function factsOf(row: Row, { names, hasPrice: isPriced }: LineContext) {
  const cost = knownCostOf(row, isPriced);
  return {
    time: new Date(Number(row.ended_at)).toISOString(),
    key: names.get(String(row.key_id)) ?? String(row.key_id),
    model: `${row.endpoint_provider}/${row.endpoint_model}`,
    status: String(row.status),
    error: row.error_code === null ? null : String(row.error_code),
    cost: cost === undefined ? null : decimalOf(cost),
    ms: Number(row.total_ms),
  };
}

function visible(text: unknown): string {
  return String(text).replace(/\p{Cc}/gu, '?');
}
