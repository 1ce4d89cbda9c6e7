/** What an answer may cost at most, before anybody knows which kinds of tokens it will be charged for. */

import type { Usage } from '../core/chat.ts';
import type { CatalogModel } from '../core/model.ts';
import { largest, smallest } from '../core/money.ts';
import { costOf } from './cost.ts';

export interface MostUsage {
  /** Tokens. */
  input: number;
  output: number;
  /** The share of the input that is sound, and that is pictures. */
  audioInput: number;
  imageInput: number;
  /** The answer may be sound. */
  speaks: boolean;
  searches: number;
}

type Priced = Pick<CatalogModel, 'pricing' | 'priceTiers' | 'outputModalities'>;

/** More than any budget. */
const MOST_MONEY = 2n ** 63n - 1n;

/** Of each token the dearest kind that it may be: new in a cache, thought, spoken, drawn. More than can be counted is the most there is. */
export function mostCostOf(model: Priced, expected: MostUsage): bigint {
  const { input, token } = pricesOf(model, expected);
  const output = Math.ceil(Math.min(expected.output, Number.MAX_SAFE_INTEGER));
  return smallest(MOST_MONEY, input + token * BigInt(output));
}

/** How many tokens of output `money` pays for beside the input; Infinity where they are free. */
export function outputFor(model: Priced, expected: MostUsage, money: bigint): number {
  const { input, token } = pricesOf(model, expected);
  if (token <= 0n) return Number.POSITIVE_INFINITY;
  return money < input ? 0 : Number((money - input) / token);
}

/** Of all the input, and of one token of output. */
function pricesOf(model: Priced, expected: MostUsage): { input: bigint; token: bigint } {
  const input = dearest(model, { ...expected, output: 0 });
  return { input, token: dearest(model, { ...expected, output: 1 }) - input };
}

function dearest(model: Priced, expected: MostUsage): bigint {
  return kindsOf(model, expected).reduce((most, usage) => largest(most, costOf(model, usage)), 0n);
}

function kindsOf({ outputModalities }: Priced, expected: MostUsage): Usage[] {
  const { input, output, audioInput, imageInput, speaks, searches } = expected;
  const plain: Usage = { input, output, audioInput, imageInput, searches };
  const text = Math.max(0, input - audioInput - imageInput);
  const inputs = [{}, { cacheWrite: text }, { cacheWrite: text, cacheWrite1h: text }];
  const outputs = [
    {},
    { reasoning: output },
    ...(speaks ? [{ audioOutput: output }] : []),
    ...(outputModalities.includes('image') ? [{ imageOutput: output }] : []),
  ];
  return inputs.flatMap((of) => outputs.map((or) => ({ ...plain, ...of, ...or })));
}
