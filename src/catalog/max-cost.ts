/** Maximum cost of a response, before the kinds of its tokens are known. */

import type { Usage } from '../core/chat.ts';
import type { CatalogModel, Prices } from '../core/model.ts';
import { maxBigInt, minBigInt } from '../core/money.ts';
import { costOf } from './cost.ts';

export interface MaxUsage {
  /** Tokens. */
  input: number;
  output: number;
  /** Audio and image tokens of the input. */
  audioInput: number;
  imageInput: number;
  /** The response may contain audio. */
  mayOutputAudio: boolean;
  searches: number;
}

export type PricedModel = Prices & Pick<CatalogModel, 'outputModalities'>;

/** Largest storable amount; more than any budget. */
const MAX_COST = 2n ** 63n - 1n;

/** Charges every token as its most expensive possible kind: cache write, reasoning, audio, image. Saturates at `MAX_COST`. */
export function maxCostOf(model: PricedModel, expected: MaxUsage): bigint {
  const { input, token } = costBounds(model, expected);
  const output = Math.ceil(Math.min(expected.output, Number.MAX_SAFE_INTEGER));
  return minBigInt(MAX_COST, input + token * BigInt(output));
}

/** Output tokens that `money` pays for in addition to the input; Infinity if they are free. */
export function affordableOutput(model: PricedModel, expected: MaxUsage, money: bigint): number {
  const { input, token } = costBounds(model, expected);
  if (token <= 0n) return Number.POSITIVE_INFINITY;
  return money < input ? 0 : Number((money - input) / token);
}

/** Maximum cost of the input and of one output token. */
function costBounds(model: PricedModel, expected: MaxUsage): { input: bigint; token: bigint } {
  const input = maxCostOfKinds(model, { ...expected, output: 0 });
  return { input, token: maxCostOfKinds(model, { ...expected, output: 1 }) - input };
}

function maxCostOfKinds(model: PricedModel, expected: MaxUsage): bigint {
  return possibleUsages(model, expected).reduce((most, usage) => maxBigInt(most, costOf(model, usage)), 0n);
}

function possibleUsages({ outputModalities }: PricedModel, expected: MaxUsage): Usage[] {
  const { input, output, audioInput, imageInput, mayOutputAudio, searches } = expected;
  const plain: Usage = { input, output, audioInput, imageInput, searches };
  const text = Math.max(0, input - audioInput - imageInput);
  const inputs = [{}, { cacheWrite: text }, { cacheWrite: text, cacheWrite1h: text }];
  const outputs = [
    {},
    { reasoning: output },
    ...(mayOutputAudio ? [{ audioOutput: output }] : []),
    ...(outputModalities.includes('image') ? [{ imageOutput: output }] : []),
  ];
  return inputs.flatMap((of) => outputs.map((or) => ({ ...plain, ...of, ...or })));
}
