/** What every source of facts gives, and how its file is read without losing a digit. */

import type { Json } from '../../core/json/json.ts';
import type { Pricing } from '../../core/model.ts';
import { doubleDecimal } from '../decimal.ts';
import type { CatalogEntry } from '../entry.ts';
import type { Abilities } from '../parameters.ts';

export interface SourceModel {
  provider: string;
  entry: CatalogEntry;
  /** What the source says the model can do, where it doesn't list parameters. */
  abilities?: Abilities;
  /** The source has no data on this model but its name: limits and prices must come from elsewhere. */
  nameOnly?: boolean;
}

export interface SourceFormat {
  name: string;
  detect(body: Json): boolean;
  read(body: Json): SourceModel[];
}

/** Every number becomes the text of its digits. */
export function parseDigits(text: string): Json {
  return JSON.parse(text, (_key, value, context?: { source?: string }) =>
    typeof value === 'number' ? (context?.source ?? String(value)) : value,
  );
}

export function count(value: unknown): number | undefined {
  const number = Number(value ?? 0);
  return Number.isSafeInteger(number) && number > 0 ? number : undefined;
}

/** Unix seconds of a date or time; a time without zone is UTC. */
export function seconds(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined;
  const time = Date.parse(value.replace(/ UTC$/, 'Z').replace(/^(\d{4}-\d{2}-\d{2}) /, '$1T'));
  return Number.isNaN(time) ? undefined : Math.floor(time / 1000);
}

/** Those that are known and not free; a free cache is the absence of a cache price. */
export function pricing(prices: Record<string, string | undefined>): Pricing {
  const known: Pricing = {};
  for (const [key, value] of Object.entries(prices)) {
    if (value === undefined || (value === '0' && key !== 'prompt' && key !== 'completion')) continue;
    if (key === 'internal_reasoning' && value === prices.completion) continue;
    known[key] = value;
  }
  return known;
}

/** Anthropic sells cache writes by lifetime: its one published price is that of five minutes, an hour costs twice the input. */
export function byLifetime(provider: string, prices: Pricing): Pricing {
  const { input_cache_write: write, ...rest } = prices;
  if (provider !== 'anthropic' || write === undefined || rest.prompt === undefined) return prices;
  return {
    ...rest,
    input_cache_write_5m: write,
    input_cache_write_1h: rest.input_cache_write_1h ?? doubleDecimal(rest.prompt),
  };
}
