/** Updated catalog: facts in the data folder, which replace the bundled ones until a release brings newer facts. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject } from '../core/json/json.ts';
import { bundledEntries, bundledModelEntries, entriesByVendor, type KnownEntries, readBundle } from './bundled.ts';
import type { CatalogEntry } from './entry.ts';
import { isWholeEntry } from './entry-check.ts';

export interface UpdatedCatalog {
  /** The entries that count. */
  entries(): CatalogEntry[];
  /** Reason for which the file in the data folder does not count; absent where there is none. */
  problem?: string;
}

/** Version of the form of the file. */
const FORMAT_VERSION = 1;
const FILE = 'catalog.json';

/** Path of the updated catalog in a data folder. */
export function updatedCatalogPath(folder: string): string {
  return join(folder, FILE);
}

/** Entries by vendor: those of the data folder if they count, else the bundled ones. */
export function knownEntries(folder: string): KnownEntries {
  const updated = readUpdated(folder);
  return Array.isArray(updated) ? entriesByVendor(updated) : bundledEntries();
}

/** Entries of the updated catalog. Without a usable file, the bundled entries, with the problem if the file is invalid. */
export function readCatalog(folder: string): UpdatedCatalog {
  const updated = readUpdated(folder);
  if (Array.isArray(updated)) return { entries: () => updated };
  return { entries: bundledModelEntries, ...(updated !== undefined && { problem: updated }) };
}

/** Text of the file. It names the bundle that it was made from: newer bundled facts come before it. */
export function updatedCatalogText(entries: readonly CatalogEntry[]): string {
  const lines = entries.map((entry) => JSON.stringify(entry)).join(',\n');
  const head = { format: FORMAT_VERSION, bundle: hashOf(readBundle()), checksum: hashOf(JSON.stringify(entries)) };
  return `${JSON.stringify(head).slice(0, -1)},"entries":[\n${lines}\n]}\n`;
}

/** Entries, the problem of the file, or undefined without a file. */
function readUpdated(folder: string): CatalogEntry[] | string | undefined {
  let text: string;
  try {
    text = readFileSync(updatedCatalogPath(folder), 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? undefined : `cannot be read: ${message}`;
  }
  try {
    const file: unknown = JSON.parse(text);
    if (!isObject(file) || file.format !== FORMAT_VERSION || !Array.isArray(file.entries)) return DAMAGED;
    if (hashOf(JSON.stringify(file.entries)) !== file.checksum || !file.entries.every(isWholeEntry)) return DAMAGED;
    return file.bundle === hashOf(readBundle()) ? file.entries : 'is older than the facts of this version';
  } catch {
    return DAMAGED;
  }
}

const DAMAGED = 'is damaged';

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
