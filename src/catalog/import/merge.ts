/** Merge of imported entries into a catalog file, which has one model per line for readable diffs. */

import type { Pricing } from '../../core/model.ts';
import type { CatalogEntry } from '../entry.ts';

export interface MergeResult {
  entries: CatalogEntry[];
  added: string[];
  changed: string[];
  removed: string[];
}

/**
 * Imported fields replace known ones; models that the source doesn't list stay, unless `fresh`. Existing canonical slugs
 * never change.
 */
export function merge(before: readonly CatalogEntry[], imported: readonly CatalogEntry[], fresh: boolean): MergeResult {
  const old = new Map(before.map((entry) => [entry.id, entry]));
  const entries = new Map(fresh ? [] : old);
  const added: string[] = [];
  const changed: string[] = [];
  for (const entry of imported) {
    const previous = old.get(entry.id);
    const base = entries.get(entry.id);
    const merged = inFieldOrder({ ...base, ...definedFields(entry) } as CatalogEntry);
    if (entry.pricing && base?.pricing) merged.pricing = mergedPricing(base.pricing, entry.pricing);
    if (previous) merged.canonicalSlug = previous.canonicalSlug ?? previous.id;
    if (merged.canonicalSlug === merged.id) delete merged.canonicalSlug;
    entries.set(entry.id, merged);
    if (!previous) added.push(entry.id);
    else if (entryLine(previous) !== entryLine(merged)) changed.push(entry.id);
  }
  const removed = before.map(({ id }) => id).filter((id) => !entries.has(id));
  const sorted = [...entries.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
  return { entries: sorted, added, changed, removed };
}

/** Price by price. Some sources list the price of an image's tokens as that of all output, without one of the text. */
function mergedPricing(before: Pricing, after: Pricing): Pricing {
  const merged = { ...before, ...after };
  const isOfImages = after.image_output === undefined && after.completion === before.image_output;
  if (isOfImages && before.completion !== undefined) merged.completion = before.completion;
  return merged;
}

/** JSON text of `models.json`, with one entry a line. */
export function fileText(entries: readonly CatalogEntry[]): string {
  return `[\n${entries.map(entryLine).join(',\n')}\n]\n`;
}

function entryLine(entry: CatalogEntry): string {
  return JSON.stringify(inFieldOrder(entry));
}

const FIELD_ORDER: (keyof CatalogEntry)[] = [
  'id',
  'canonicalSlug',
  'name',
  'created',
  'version',
  'contextLength',
  'maxOutput',
  'inputModalities',
  'outputModalities',
  'tokenizer',
  'instructType',
  'isModerated',
  'pricing',
  'priceTiers',
  'supportedParameters',
  'expirationDate',
];

function inFieldOrder(entry: CatalogEntry): CatalogEntry {
  return Object.fromEntries(
    FIELD_ORDER.map((field) => [field, entry[field]]).filter(([, value]) => value !== undefined),
  ) as unknown as CatalogEntry;
}

function definedFields(entry: CatalogEntry): Partial<CatalogEntry> {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== undefined));
}
