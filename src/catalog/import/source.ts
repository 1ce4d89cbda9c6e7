/** Source formats of the catalog import, and parsing of their files without loss of digits. */

import type { Json } from '../../core/json/json.ts';
import type { Pricing } from '../../core/model.ts';
import { multiplyPrice } from '../decimal.ts';
import type { CatalogEntry } from '../entry.ts';
import type { Abilities } from '../parameters.ts';

export interface SourceModel {
  provider: string;
  entry: CatalogEntry;
  /** Listed abilities, if the source doesn't list parameters. */
  abilities?: Abilities;
  /** The source only has the name: limits and prices must come from elsewhere. */
  nameOnly?: boolean;
}

export interface SourceFormat {
  name: string;
  /** Whether a JSON body has this format. */
  detect(body: Json): boolean;
  read(body: Json): SourceModel[];
}

/** Parses JSON with every number as the text of its digits. */
export function parseDigits(text: string): Json {
  return JSON.parse(text, (_key, value, context?: { source?: string }) =>
    typeof value === 'number' ? (context?.source ?? String(value)) : value,
  );
}

/** Whole number above 0, from a number or its digits; undefined for any other value. */
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

/** Known prices that are not free, except input and output; a free cache has no cache price. */
export function pricing(prices: Record<string, string | undefined>): Pricing {
  const known: Pricing = {};
  for (const [key, value] of Object.entries(prices)) {
    if (value === undefined || (value === '0' && key !== 'prompt' && key !== 'completion')) continue;
    if (key === 'internal_reasoning' && value === prices.completion) continue;
    known[key] = value;
  }
  return known;
}

/** Providers that bill the long-context price above a border of its prompt; others, such as xAI, bill it from the border on. */
const BILLED_ABOVE = new Set(['openai', 'google']);

/** The least tokens of a prompt that has the long-context price, whose border a source has as a round number. */
export function longPromptOf(provider: string, border: number): number {
  return BILLED_ABOVE.has(provider) ? border + 1 : border;
}

/** Anthropic prices cache writes by lifetime: the published price is for five minutes, an hour costs twice the input price. */
export function byLifetime(provider: string, prices: Pricing): Pricing {
  const { input_cache_write: write, ...rest } = prices;
  if (provider !== 'anthropic' || write === undefined || rest.prompt === undefined) return prices;
  return {
    ...rest,
    input_cache_write_5m: write,
    input_cache_write_1h: rest.input_cache_write_1h ?? multiplyPrice(rest.prompt, '2'),
  };
}
