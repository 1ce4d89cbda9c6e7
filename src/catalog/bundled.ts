/** The models that come with the gateway (`models.json` and `videos`), and what an operator adds to them or overrides. */

import { readdirSync, readFileSync } from 'node:fs';
import type { CatalogModel } from '../core/model.ts';
import { type CatalogEntry, catalogModel } from './entry.ts';
import { type Abilities, supportedParameters } from './parameters.ts';

export interface ListedModel {
  entry: CatalogEntry;
  /** What the list says the model can do, where it doesn't name parameters. */
  abilities?: Abilities;
}

/** By vendor, then by upstream id; slugs without the vendor too. */
let cachedEntries: Map<string, Map<string, CatalogEntry>> | undefined;

function entriesOf(vendor: string): ReadonlyMap<string, CatalogEntry> {
  cachedEntries ??= loadEntries();
  return cachedEntries.get(vendor) ?? new Map();
}

function loadEntries(): Map<string, Map<string, CatalogEntry>> {
  const entries: CatalogEntry[] = JSON.parse(readFileSync(new URL('./models.json', import.meta.url), 'utf8'));
  const vendors = new Map<string, Map<string, CatalogEntry>>();
  for (const entry of entries) {
    const vendor = entry.id.slice(0, entry.id.indexOf('/'));
    const models = vendors.get(vendor) ?? new Map<string, CatalogEntry>();
    const id = entry.id.slice(vendor.length + 1);
    vendors.set(vendor, models.set(id, { ...entry, id, canonicalSlug: entry.canonicalSlug?.slice(vendor.length + 1) }));
  }
  for (const [vendor, entry] of videoEntries()) {
    const models = vendors.get(vendor) ?? new Map<string, CatalogEntry>();
    vendors.set(vendor, models.set(entry.id, { ...models.get(entry.id), ...entry }));
  }
  return vendors;
}

const VIDEO_ENTRIES_FOLDER = new URL('./videos/', import.meta.url);

/** With their vendor, which is the name of the file. */
function videoEntries(): [vendor: string, entry: CatalogEntry][] {
  return readdirSync(VIDEO_ENTRIES_FOLDER)
    .filter((file) => file.endsWith('.json'))
    .flatMap((file) => {
      const entries: CatalogEntry[] = JSON.parse(readFileSync(new URL(file, VIDEO_ENTRIES_FOLDER), 'utf8'));
      return entries.map((entry): [string, CatalogEntry] => [file.slice(0, -'.json'.length), entry]);
    });
}

function withProviderSlug(provider: string, entry: CatalogEntry): CatalogEntry {
  return { ...entry, canonicalSlug: `${provider}/${entry.canonicalSlug ?? entry.id}` };
}

/** The models of `vendor` under the name that the operator gave the provider; empty when none are bundled. */
export function bundledModels(provider: string, vendor = provider): CatalogModel[] {
  return [...entriesOf(vendor).values()].map((entry) =>
    catalogModel(provider, withProviderSlug(provider, entry), vendor),
  );
}

/** A model as the operator describes it; what is left out comes from the vendor's bundled model of the same upstream id. */
export function customModel(provider: string, entry: CatalogEntry, vendor = provider): CatalogModel {
  const bundled = entriesOf(vendor).get(entry.upstreamId ?? entry.id);
  if (!bundled) return catalogModel(provider, entry, vendor);
  const known = { ...withProviderSlug(provider, bundled), ...defined(entry) };
  if (entry.pricing && !entry.priceTiers) delete known.priceTiers;
  return catalogModel(provider, known, vendor);
}

/** A model as its upstream lists it: for a bundled one the list is believed on limits and prices, not on what it is called. */
export function listedModel(provider: string, listed: ListedModel, vendor = provider): CatalogModel {
  const { entry, abilities } = listed;
  if (entriesOf(vendor).has(entry.id)) {
    const { name, created, version, ownedBy, canonicalSlug, ...facts } = entry;
    return customModel(provider, facts, vendor);
  }
  const derived = abilities && supportedParameters(vendor, entry.id, abilities);
  return catalogModel(provider, { ...entry, supportedParameters: entry.supportedParameters ?? derived }, vendor);
}

function defined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;
}
