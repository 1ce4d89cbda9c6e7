/** Bundled models (`models.json` and `videos`), and the custom and listed models that complete or override them. */

import { readdirSync, readFileSync } from 'node:fs';
import type { CatalogModel } from '../core/model.ts';
import { type CatalogEntry, catalogModel, identityOf } from './entry.ts';
import { type Abilities, supportedParameters } from './parameters.ts';

export interface ListedModel {
  entry: CatalogEntry;
  /** Listed abilities, if the list doesn't name parameters. */
  abilities?: Abilities;
}

/** Entries by vendor, then by upstream id; slugs without the vendor. */
export type KnownEntries = ReadonlyMap<string, ReadonlyMap<string, CatalogEntry>>;

const NO_ENTRIES: ReadonlyMap<string, CatalogEntry> = new Map();

let cachedEntries: KnownEntries | undefined;

export function bundledEntries(): KnownEntries {
  cachedEntries ??= entriesByVendor(bundledModelEntries());
  return cachedEntries;
}

/** Entries of `models.json`, without video models. */
export function bundledModelEntries(): CatalogEntry[] {
  return JSON.parse(readBundle());
}

/** JSON text of `models.json`. */
export function readBundle(): string {
  return readFileSync(new URL('./models.json', import.meta.url), 'utf8');
}

/** Video models, which have files of their own, are added. */
export function entriesByVendor(entries: readonly CatalogEntry[]): KnownEntries {
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

/** Entries with their vendor, which is the file name. */
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

/** Models of `vendor` under the configured name of the provider; empty if none are known. */
export function bundledModels(provider: string, vendor = provider, known = bundledEntries()): CatalogModel[] {
  return [...(known.get(vendor) ?? NO_ENTRIES).values()].map((entry) =>
    catalogModel(provider, withProviderSlug(provider, entry), vendor),
  );
}

/** The bundled model of a configured one: that of the same id at the vendor, or its base, by id or slug. */
export function bundledEntry(
  entry: CatalogEntry,
  vendor: string,
  entries = bundledEntries(),
): CatalogEntry | undefined {
  const known = identityOf(entry, vendor);
  const models = entries.get(known.vendor);
  const found = models?.get(known.id);
  if (found || entry.base === undefined) return found;
  return models?.values().find(({ canonicalSlug }) => canonicalSlug === known.id);
}

/** A configured model; omitted fields come from its bundled model. */
export function customModel(
  provider: string,
  entry: CatalogEntry,
  vendor = provider,
  entries = bundledEntries(),
): CatalogModel {
  const bundled = bundledEntry(entry, vendor, entries);
  if (!bundled) return catalogModel(provider, entry, vendor);
  const known = { ...withProviderSlug(provider, bundled), ...defined(entry) };
  if (entry.base !== undefined) known.upstreamId = entry.upstreamId ?? entry.id;
  if (entry.pricing && !entry.priceTiers) delete known.priceTiers;
  return catalogModel(provider, known, vendor);
}

/** A model listed by its upstream. For a bundled model only limits and prices are taken from the list, not its names. */
export function listedModel(
  provider: string,
  listed: ListedModel,
  vendor = provider,
  entries = bundledEntries(),
): CatalogModel {
  const { entry, abilities } = listed;
  if (entries.get(vendor)?.has(entry.id)) {
    const { name, created, version, ownedBy, canonicalSlug, ...facts } = entry;
    return customModel(provider, facts, vendor, entries);
  }
  const derived = abilities && supportedParameters(vendor, entry.id, abilities);
  return catalogModel(provider, { ...entry, supportedParameters: entry.supportedParameters ?? derived }, vendor);
}

function defined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;
}
