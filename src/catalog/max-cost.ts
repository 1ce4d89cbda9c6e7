/** Maximum cost of a response, before the kinds of its tokens are known. */

import type { Usage } from '../core/chat.ts';
import type { CatalogModel, Prices } from '../core/model.ts';
import { maxBigInt, minBigInt } from '../core/money.ts';
import { costOf } from './cost.ts';

export interface MaxUsage {
  /** Tokens. */
  input: number;
  /** Audio and image tokens of the input. */
  audioInput: number;
  imageInput: number;
  /** The response may contain audio. */
  mayOutputAudio: boolean;
  searches: number;
  /** Output tokens of the model behind a tool that makes images. */
  imageToolOutput?: number;
  fileSearches?: number;
  /** Containers by their size. */
  containers?: number;
  mapRequests?: number;
}

export type PricedModel = Prices & Pick<CatalogModel, 'outputModalities'>;

/** Largest storable amount; more than any budget. */
const MAX_COST = 2n ** 63n - 1n;

/** Maximum costs in 1e-12 USD: of the input, and of each output token. */
export interface CostBounds {
  input: bigint;
  token: bigint;
}

/** Charges every token as its most expensive possible kind: cache write, reasoning, audio, image. */
export function costBoundsOf(model: PricedModel, expected: MaxUsage): CostBounds {
  const input = maxCostOfKinds(model, expected, 0);
  return { input, token: maxCostOfKinds(model, expected, 1) - input };
}

/** Saturates at `MAX_COST`. */
export function maxCostOf({ input, token }: CostBounds, outputTokens: number): bigint {
  const output = Math.ceil(Math.min(outputTokens, Number.MAX_SAFE_INTEGER));
  return minBigInt(MAX_COST, input + token * BigInt(output));
}

/** Output tokens that `money` pays for in addition to the input; Infinity if they are free. */
export function affordableOutput({ input, token }: CostBounds, money: bigint): number {
  if (token <= 0n) return Number.POSITIVE_INFINITY;
  return money < input ? 0 : Number((money - input) / token);
}

function maxCostOfKinds(model: PricedModel, expected: MaxUsage, output: number): bigint {
  return possibleUsages(model, expected, output).reduce((most, usage) => maxBigInt(most, costOf(model, usage)), 0n);
}

/** Of kinds that have a price of their own; others cost the same as plain tokens. */
function possibleUsages(model: PricedModel, expected: MaxUsage, output: number): Usage[] {
  const { mayOutputAudio, ...counts } = expected;
  const { input, audioInput, imageInput } = counts;
  const plain: Usage = { ...counts, output };
  const usages = [plain];
  if (hasPrice(model, CACHE_WRITE_PRICES)) {
    const text = Math.max(0, input - audioInput - imageInput);
    usages.push({ ...plain, cacheWrite: text }, { ...plain, cacheWrite: text, cacheWrite1h: text });
  }
  const kinds: (keyof Usage)[] = [];
  if (hasPrice(model, REASONING_PRICES)) kinds.push('reasoning');
  if (mayOutputAudio) kinds.push('audioOutput');
  if (model.outputModalities.includes('image')) kinds.push('imageOutput');
  return kinds.length === 0
    ? usages
    : usages.flatMap((usage) => [usage, ...kinds.map((kind) => ({ ...usage, [kind]: output }))]);
}

const CACHE_WRITE_PRICES = ['input_cache_write', 'input_cache_write_5m', 'input_cache_write_1h'];
const REASONING_PRICES = ['internal_reasoning'];

function hasPrice({ pricing, priceTiers = NO_TIERS }: Prices, names: readonly string[]): boolean {
  return names.some(
    (name) => pricing[name] !== undefined || priceTiers.some((tier) => tier.pricing[name] !== undefined),
  );
}

const NO_TIERS: NonNullable<Prices['priceTiers']> = [];
