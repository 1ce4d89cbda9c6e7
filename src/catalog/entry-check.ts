/** Check of catalog entries that come from outside: types and bounds of every fact. */

import { isObject } from '../core/json/json.ts';
import type { CatalogEntry } from './entry.ts';

const MAX_TOKENS = 1_000_000_000;
const MAX_NAME_CHARACTERS = 200;
const MAX_LIST = 100;
const PRICE = /^\d{1,9}(\.\d{1,24})?$/;
const ID = /^[\w~.-]+\/[\w~:@./+-]+$/;
const DATE = /^\d{4}-\d{2}-\d{2}$/;

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string' && value !== '' && value.length <= MAX_NAME_CHARACTERS;
const isId: Check = (value) => isText(value) && ID.test(value as string);
const isCount: Check = (value) => Number.isSafeInteger(value) && Number(value) > 0 && Number(value) <= MAX_TOKENS;
const isMoment: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const isTexts: Check = (value) => Array.isArray(value) && value.length <= MAX_LIST && value.every(isText);
const isPricing: Check = (value) =>
  isObject(value) &&
  Object.keys(value).length <= MAX_LIST &&
  Object.values(value).every((price) => typeof price === 'string' && PRICE.test(price));
const isTiers: Check = (value) =>
  Array.isArray(value) &&
  value.length <= MAX_LIST &&
  value.every((tier) => isObject(tier) && isCount(tier.minPromptTokens) && isPricing(tier.pricing));

const CHECKS: Partial<Record<keyof CatalogEntry, Check>> = {
  canonicalSlug: isId,
  name: isText,
  created: isMoment,
  version: isText,
  contextLength: isCount,
  maxOutput: (value) => value === 0 || isCount(value),
  inputModalities: isTexts,
  outputModalities: isTexts,
  tokenizer: isText,
  instructType: (value) => value === null || isText(value),
  isModerated: (value) => typeof value === 'boolean',
  pricing: isPricing,
  priceTiers: isTiers,
  supportedParameters: isTexts,
  expirationDate: (value) => value === null || (typeof value === 'string' && DATE.test(value)),
};

export function isWholeEntry(entry: unknown): entry is CatalogEntry {
  if (!isObject(entry) || !isId(entry.id)) return false;
  return Object.entries(entry).every(
    ([name, value]) => name === 'id' || CHECKS[name as keyof CatalogEntry]?.(value) === true,
  );
}

/** The entry with the facts that are right; undefined if its id is not. */
export function checkedEntry(entry: CatalogEntry): CatalogEntry | undefined {
  if (!isId(entry.id)) return undefined;
  const facts = Object.entries(entry).filter(
    ([name, value]) => name === 'id' || CHECKS[name as keyof CatalogEntry]?.(value) === true,
  );
  return Object.fromEntries(facts) as unknown as CatalogEntry;
}
