/** Update of the catalog from a source that may be wrong or hostile: its changes, and the refused ones. */

import type { PriceTier, Pricing } from '../../core/model.ts';
import { UNITS, withToolPrices } from '../../core/prices.ts';
import type { CatalogEntry } from '../entry.ts';
import { checkedEntry } from '../entry-check.ts';
import { toolPricesFor } from '../rules.ts';
import { importModels } from './import.ts';

export interface FactChange {
  id: string;
  /** `pricing.prompt`, `maxOutput`. */
  fact: string;
  /** Undefined where nothing was known. */
  before: string | undefined;
  after: string;
  /** Reason for which the fact stays as it was. */
  refused?: string;
}

export interface CatalogUpdate {
  format: string;
  entries: CatalogEntry[];
  added: string[];
  /** Models of which anything changes. */
  changed: string[];
  /** Prices and limits that differ, and facts that were refused. */
  changes: FactChange[];
}

export interface UpdateOptions {
  /** The entries that count now. */
  before: readonly CatalogEntry[];
  /** The bundled entries: many small steps do not lead away from them. */
  bundled: readonly CatalogEntry[];
  format?: string;
  /** Prices may become free, or far from those before. */
  acceptsPrices?: boolean;
}

/** A fact does not become so many times greater or smaller in one update. */
const MAX_FACTOR = 10;
/** USD for a token, a request, a search. No model costs as much. */
const MAX_PRICE = 100;
const MAX_TOKEN_PRICE = 0.01;
const LIMITS = ['contextLength', 'maxOutput'] as const;
/** Part of the names of models that are free on purpose. */
const FREE_SUFFIX = ':free';
const MAX_MODELS = 20_000;

/** Throws if the text is of no known format, or has too many models. */
export function updateCatalog(
  text: string,
  { before, bundled, format, acceptsPrices = false }: UpdateOptions,
): CatalogUpdate {
  const imported = importModels(text, { before: [...before], ...(format !== undefined && { format }) });
  if (imported.entries.length > MAX_MODELS) throw new Error(`the source has more than ${MAX_MODELS} models`);
  const known = new Map(before.map((entry) => [entry.id, entry]));
  const shipped = new Map(bundled.map((entry) => [entry.id, entry]));
  const touched = new Set([...imported.added, ...imported.changed]);
  const changes: FactChange[] = [];
  const entries = imported.entries.flatMap((entry) => {
    if (!touched.has(entry.id)) return [entry];
    const right = checkedEntry(entry);
    const old = known.get(entry.id);
    if (!right) return old ? [old] : [];
    const checked = { ...old, ...right };
    const bases = [old, shipped.get(entry.id)].filter((base) => base !== undefined);
    return [withSafeFacts(checked, bases, { acceptsPrices, onChange: (change) => changes.push(change) })];
  });
  const texts = new Map(before.map((entry) => [entry.id, JSON.stringify(entry)]));
  const differing = entries.filter((entry) => JSON.stringify(entry) !== texts.get(entry.id));
  return {
    format: imported.format,
    entries,
    added: differing.filter(({ id }) => !known.has(id)).map(({ id }) => id),
    changed: differing.filter(({ id }) => known.has(id)).map(({ id }) => id),
    changes,
  };
}

interface Safety {
  acceptsPrices: boolean;
  onChange(change: FactChange): void;
}

/** `bases` are the entry as it counts now, and as it was bundled. */
function withSafeFacts(entry: CatalogEntry, bases: CatalogEntry[], safety: Safety): CatalogEntry {
  const [now] = bases;
  const safe: CatalogEntry = { ...entry };
  for (const limit of LIMITS) {
    const after = entry[limit];
    const before = now?.[limit];
    if (after === undefined || after === before) continue;
    const isFar = bases.some((base) => isFarFrom(after, base[limit]));
    if (isFar) {
      if (before === undefined) delete safe[limit];
      else safe[limit] = before;
    }
    if (now) safety.onChange(changeOf(entry.id, limit, [before, after], isFar ? FAR : undefined));
  }
  if (entry.pricing) {
    const pricings = bases.map(({ id, pricing }) => pricing && withToolPrices(pricing, knownToolPrices(id)));
    safe.pricing = safePricing(entry.id, 'pricing', entry.pricing, pricings, safety);
  }
  if (entry.priceTiers) safe.priceTiers = entry.priceTiers.map((tier) => safeTier(entry.id, tier, bases, safety));
  return safe;
}

/** Prices of tools where the facts do not say them. */
function knownToolPrices(id: string): Pricing | undefined {
  const slash = id.indexOf('/');
  return toolPricesFor(id.slice(0, slash), id.slice(slash + 1));
}

/** A tier is compared with the one of its threshold, else with the prices of the model. */
function safeTier(id: string, tier: PriceTier, bases: CatalogEntry[], safety: Safety): PriceTier {
  const same = ({ minPromptTokens }: PriceTier) => minPromptTokens === tier.minPromptTokens;
  const pricings = bases.map(({ priceTiers, pricing }) => priceTiers?.find(same)?.pricing ?? pricing);
  const fact = `priceTiers[${tier.minPromptTokens}]`;
  return { ...tier, pricing: safePricing(id, fact, tier.pricing, pricings, safety) };
}

function safePricing(
  id: string,
  fact: string,
  pricing: Pricing,
  bases: (Pricing | undefined)[],
  { acceptsPrices, onChange }: Safety,
): Pricing {
  const safe: Pricing = {};
  const [now] = bases;
  for (const [name, after] of Object.entries(pricing)) {
    const before = now?.[name];
    const refused = before === after ? undefined : problemOf(id, name, after, bases);
    const isKept = refused !== undefined && (!acceptsPrices || refused === TOO_HIGH);
    if (!isKept) safe[name] = after;
    else if (before !== undefined) safe[name] = before;
    if (before !== after && (now || isKept))
      onChange(changeOf(id, `${fact}.${name}`, [before, after], isKept ? refused : undefined));
  }
  return safe;
}

const FAR = `is more than ${MAX_FACTOR} times what it was, or less than a tenth`;
const FREE = 'would become free';
const TOO_HIGH = 'is higher than any price there is';

function problemOf(id: string, name: string, after: string, bases: (Pricing | undefined)[]): string | undefined {
  const price = Number(after);
  const olds = bases.flatMap((base) => base?.[name] ?? []);
  if (price > (Object.hasOwn(UNITS, name) ? MAX_PRICE : MAX_TOKEN_PRICE)) return TOO_HIGH;
  const wasFree = olds.some((old) => Number(old) === 0);
  if (price === 0) return wasFree || id.endsWith(FREE_SUFFIX) ? undefined : FREE;
  return olds.some((old) => isFarFrom(price, Number(old))) ? FAR : undefined;
}

/** Whether a value changed by more than `MAX_FACTOR`. A previous value of 0, or none, counts as close. */
function isFarFrom(after: number, before: number | undefined): boolean {
  if (!before) return false;
  return after > before * MAX_FACTOR || after * MAX_FACTOR < before;
}

function changeOf(
  id: string,
  fact: string,
  [before, after]: [before: unknown, after: unknown],
  refused: string | undefined,
): FactChange {
  return {
    id,
    fact,
    before: before === undefined ? undefined : String(before),
    after: String(after),
    ...(refused !== undefined && { refused }),
  };
}
