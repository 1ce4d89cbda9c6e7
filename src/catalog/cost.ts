/** Cost of a response by catalog prices, as an exact integer of 1e-12 USD. */

import type { Usage } from '../core/chat.ts';
import type { Prices, Pricing } from '../core/model.ts';
import { priceOfPieces } from '../core/money.ts';
import { boundCost, boundCount } from '../core/usage-bounds.ts';

/** Price names by kind of token, in order of preference. `image` is none: the tokens of an image are among those of the prompt. */
const PRICE_NAMES = {
  input: ['prompt'],
  cached: ['input_cache_read', 'prompt'],
  cachedAudio: ['input_audio_cache', 'input_cache_read', 'audio', 'prompt'],
  cacheWrite: ['input_cache_write_5m', 'input_cache_write', 'prompt'],
  cacheWrite1h: ['input_cache_write_1h', 'input_cache_write', 'prompt'],
  audioInput: ['audio', 'prompt'],
  imageInput: ['image_token', 'prompt'],
  output: ['completion'],
  reasoning: ['internal_reasoning', 'completion'],
  audioOutput: ['audio_output', 'completion'],
  imageOutput: ['image_output', 'completion'],
  imageToolInput: ['image_tool_input', 'prompt'],
  imageToolOutput: ['image_tool_output', 'image_output', 'completion'],
  searches: ['web_search', 'web_search_request'],
  fileSearches: ['file_search'],
  containers: ['container'],
  mapRequests: ['maps_request'],
  requests: ['request'],
} satisfies Record<string, string[]>;

export type TokenKind = keyof typeof PRICE_NAMES;

/** Count of a kind, and the price of one in USD. */
export type PriceLine = [kind: TokenKind, count: number, price: string];

/** Calculation of a cost, as a stored trace keeps it. */
export interface ChargeNote {
  /** Encoded lines that it is the sum of, or a word for another basis. */
  basis: string;
  /** Service tier, if it is not the standard one, and whether its prices are assumed. */
  tier: { name: string; isAssumed: boolean } | undefined;
}

/** Zero for models without prices. Every token is charged once, as its most specific kind. */
export function costOf(model: Prices, usage: Usage): bigint {
  return sumOfLines(priceLinesOf(model, usage));
}

/** Sum of the lines, between 0 and the largest cost of a record. */
export function sumOfLines(lines: readonly PriceLine[]): bigint {
  let cost = 0n;
  for (const line of lines) cost += costOfLine(line);
  return boundCost(cost);
}

/** Lines that `costOf` is the sum of, without those of nothing and the free request itself. */
export function priceLinesOf(model: Prices, usage: Usage): PriceLine[] {
  const { rounds } = usage;
  return rounds && model.priceTiers
    ? mergedLines(rounds.flatMap((round) => linesOf(model, round)))
    : linesOf(model, usage);
}

/** One line for each kind and price; one fee of the request. */
function mergedLines(lines: readonly PriceLine[]): PriceLine[] {
  const merged = new Map<string, PriceLine>();
  for (const [kind, count, price] of lines) {
    const name = `${kind} ${price}`;
    const before = kind === 'requests' ? 0 : (merged.get(name)?.[1] ?? 0);
    merged.set(name, [kind, before + count, price]);
  }
  return [...merged.values()];
}

function linesOf(model: Prices, usage: Usage): PriceLine[] {
  const prices = pricesAt(model, usage.input);
  const counts = countsOf(usage);
  const lines: PriceLine[] = [];
  for (const name in counts) {
    const kind = name as TokenKind;
    const counted = boundCount(counts[kind]) ?? 0;
    if (counted === 0) continue;
    const count = kind === 'searches' && areBilledOnce(prices) ? 1 : counted;
    const price = priceOf(prices, kind);
    if (kind !== 'requests' || price !== '0') lines.push([kind, count, price]);
  }
  return lines;
}

/** Cost of a line in 1e-12 USD. */
export function costOfLine([, count, price]: PriceLine): bigint {
  return priceOfPieces(count, price);
}

/** Letter of each kind in stored lines. */
const LETTERS: Record<TokenKind, string> = {
  input: 'i',
  cached: 'c',
  cachedAudio: 'C',
  cacheWrite: 'w',
  cacheWrite1h: 'W',
  audioInput: 'a',
  imageInput: 'm',
  output: 'o',
  reasoning: 'r',
  audioOutput: 'A',
  imageOutput: 'M',
  imageToolInput: 'g',
  imageToolOutput: 'G',
  searches: 's',
  fileSearches: 'f',
  containers: 'b',
  mapRequests: 'p',
  requests: 'q',
};
const KINDS = new Map(Object.entries(LETTERS).map(([kind, letter]) => [letter, kind as TokenKind]));
const STORED_LINE = /^([a-zA-Z])(\d{1,10})x(\S{1,40})$/;

/** Short text without characters that JSON escapes: `i1204x0.00000015 o310x0.0000006`. Prices are decimals. */
export function encodePriceLines(lines: readonly PriceLine[]): string {
  let text = '';
  for (const [kind, count, price] of lines) text += `${text === '' ? '' : ' '}${LETTERS[kind]}${count}x${price}`;
  return text;
}

/** Undefined for a text that is none of lines. Skips those of a kind that a later version of the gateway has written. */
export function decodePriceLines(text: string): PriceLine[] | undefined {
  const lines: PriceLine[] = [];
  for (const part of text === '' ? [] : text.split(' ')) {
    const [, letter, count, price = ''] = STORED_LINE.exec(part) ?? [];
    if (letter === undefined) return undefined;
    const kind = KINDS.get(letter);
    if (kind !== undefined) lines.push([kind, Number(count), price]);
  }
  return lines;
}

/** Prices of a model, overridden by the tiers that the prompt reaches. */
function pricesAt({ pricing, priceTiers }: Prices, input: number): Pricing {
  if (!priceTiers) return pricing;
  const reached = priceTiers.filter(({ minPromptTokens }) => input >= minPromptTokens);
  return Object.assign({}, pricing, ...reached.map((tier) => tier.pricing));
}

/** Whether the searches of a request cost the same, however many. */
function areBilledOnce(prices: Pricing): boolean {
  return prices.web_search === undefined && prices.web_search_request !== undefined;
}

function priceOf(prices: Pricing, kind: TokenKind): string {
  const name = PRICE_NAMES[kind].find((candidate) => prices[candidate] !== undefined);
  return name === undefined ? '0' : (prices[name] as string);
}

/** Disjoint counts by kind. If an upstream reports a part larger than the whole, the part is charged. */
function countsOf(usage: Usage): Record<TokenKind, number> {
  const { cached = 0, cacheWrite = 0, cacheWrite1h = 0, reasoning = 0, audioOutput = 0, imageOutput = 0 } = usage;
  const cachedAudio = Math.min(usage.cachedAudio ?? 0, cached);
  const audioInput = remainder(usage.audioInput ?? 0, cachedAudio);
  const others = cached + cacheWrite + audioInput;
  // Image tokens that exceed the uncached input are part of the cached tokens.
  const images = remainder(usage.imageInput ?? 0, usage.cachedImage ?? 0);
  const imageInput = Math.min(images, remainder(usage.input, others));
  return {
    input: remainder(usage.input, others + imageInput),
    cached: remainder(cached, cachedAudio),
    cachedAudio,
    cacheWrite: remainder(cacheWrite, cacheWrite1h),
    cacheWrite1h,
    audioInput,
    imageInput,
    output: remainder(usage.output, reasoning + audioOutput + imageOutput),
    reasoning,
    audioOutput,
    imageOutput,
    imageToolInput: usage.imageToolInput ?? 0,
    imageToolOutput: usage.imageToolOutput ?? 0,
    searches: usage.searches ?? 0,
    fileSearches: usage.fileSearches ?? 0,
    containers: usage.containers ?? 0,
    mapRequests: usage.mapRequests ?? 0,
    requests: 1,
  };
}

function remainder(whole: number, parts: number): number {
  return Math.max(0, whole - parts);
}
