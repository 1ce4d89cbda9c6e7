/** `polygate keys create --from`: a key for each line of a CSV file, or none. */

import { readFileSync, statSync } from 'node:fs';
import { loadConfig } from '../config/load.ts';
import { systemClock } from '../core/clock.ts';
import { merged } from '../core/json/merge.ts';
import { newKeysOfCsv } from '../http/admin/bulk.ts';
import type { CreatedKey, NewKey } from '../keys/store.ts';
import { initialSettings } from '../records/key-settings.ts';
import { tagList } from '../records/tags.ts';
import { encodeCsv } from '../usage/csv.ts';
import { type KeyOptions, parseExpiry, parseKeySettings } from './key-options.ts';
import { describeKey } from './key-view.ts';
import { AUTHOR, withKeys } from './keys.ts';
import { type ConfigOptions, configSource } from './source.ts';
import { printJson, printTable } from './table.ts';

interface BulkOptions extends ConfigOptions, KeyOptions {
  from: string;
  name?: string;
  csv?: boolean;
  json?: boolean;
}

const MAX_FILE_BYTES = 200_000;
const CSV_COLUMNS = ['name', 'owner', 'tags', 'expires', 'key', 'webhook_secret', 'id'];

export async function createKeys({ from, name, expires, csv, json, ...options }: BulkOptions): Promise<void> {
  if (name !== undefined) throw new Error('Give --name or --from, not both.');
  const config = loadConfig(configSource(options));
  const settings = merged(initialSettings(config.allotments.keyDefaults), parseKeySettings(options));
  const expiry = expires === undefined ? {} : { expires: parseExpiry(expires) };
  const wanted = newKeysOfCsv(readBounded(from), settings, systemClock.now()).map(
    (key): NewKey => ({ ...expiry, ...key }),
  );
  const created = await withKeys(config, ({ keys }) => keys.createAll(wanted, AUTHOR), { createIfMissing: true });
  if (json) {
    const described = created.map(({ key, secret, webhookSecret }) => ({
      ...describeKey(key),
      secret,
      webhook_secret: webhookSecret,
    }));
    printJson(described);
    return;
  }
  process.stderr.write(`${created.length} keys, shown once and stored only as hashes:\n`);
  if (csv) process.stdout.write(encodeCsv(CSV_COLUMNS, created.map(rowOf)));
  else
    printTable(
      ['NAME', 'OWNER', 'TAGS', 'KEY'],
      created.map(rowOf).map((row) => [row.name, row.owner, row.tags, row.key]),
    );
}

function rowOf({ key, secret, webhookSecret }: CreatedKey) {
  return {
    name: key.name,
    owner: key.settings.owner ?? '',
    tags: tagList(key.settings.tags).join(' '),
    expires: key.expires === undefined ? '' : new Date(key.expires).toISOString(),
    key: secret,
    webhook_secret: webhookSecret ?? '',
    id: key.id,
  };
}

function readBounded(file: string): string {
  if (statSync(file).size > MAX_FILE_BYTES) throw new Error(`${file} is larger than ${MAX_FILE_BYTES} bytes.`);
  return readFileSync(file, 'utf8');
}
