/** `polygate keys`: the API keys of the gateway. */

import { loadConfig } from '../config/load.ts';
import type { Config } from '../config/resolved.ts';
import { parseDuration, parseMoment } from '../config/units.ts';
import { GatewayError } from '../core/errors.ts';
import { type Key, stateOf } from '../keys/key.ts';
import { type KeyStore, openKeyStore } from '../keys/store.ts';
import { openStore } from '../store/open.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import { type ConfigOptions, configSource } from './source.ts';
import { printJson, printTable } from './table.ts';

const HEADINGS = ['NAME', 'KEY', 'STATE', 'CREATED', 'EXPIRES', 'MODELS', 'ID'];

/** Works beside a gateway that runs on the same store. */
export async function withKeys<Result>(config: Config, work: (keys: KeyStore) => Promise<Result>): Promise<Result> {
  const store = await openStore({ ...config, role: 'guest' });
  try {
    return await work(await openKeyStore({ store, folder: config.data, configured: config.keys }));
  } catch (error) {
    throw error instanceof StoreUnavailable ? new Error(`The store cannot be used: ${error.problem}.`) : error;
  } finally {
    await store.close();
  }
}

/** The key alone goes to standard output, so that a script can take it from there. */
export async function createKey(
  options: ConfigOptions & { name: string; expires?: string; models?: string },
): Promise<void> {
  const { name, expires, models } = options;
  const globs = models
    ?.split(',')
    .map((glob) => glob.trim())
    .filter((glob) => glob !== '');
  const wanted = { name, expires: expires === undefined ? undefined : expiryOf(expires), settings: { models: globs } };
  const { key, secret } = await withKeys(loadConfig(configSource(options)), (keys) => keys.create(wanted));
  process.stderr.write(`The key "${key.name}", shown once and stored only as a hash:\n`);
  process.stdout.write(`${secret}\n`);
}

export async function listKeys(options: ConfigOptions & { json?: boolean }): Promise<void> {
  const keys = await withKeys(loadConfig(configSource(options)), (stored) => stored.list());
  if (options.json) printJson(keys.map(facts));
  else printTable(HEADINGS, keys.map(row));
}

export async function revokeKey(idOrName: string, options: ConfigOptions): Promise<void> {
  const key = await withKeys(loadConfig(configSource(options)), (keys) => keys.revoke(idOrName));
  process.stdout.write(`The key "${key.name}" (${key.prefix}…) is revoked.\n`);
}

function expiryOf(text: string): number {
  const duration = parseDuration(text);
  const moment = duration === undefined ? parseMoment(text) : Date.now() + duration;
  if (moment === undefined || moment <= Date.now()) {
    throw new GatewayError(
      'invalid_request',
      '--expires must be a future ISO date such as 2027-01-31, or a duration such as 30d or 12h.',
    );
  }
  return moment;
}

function facts({ settings, ...key }: Key): object {
  return {
    ...key,
    ...settings,
    state: stateOf(key, Date.now()),
    created: iso(key.created),
    expires: iso(key.expires),
    revoked: iso(key.revoked),
    lastUsed: iso(key.lastUsed),
  };
}

function row(key: Key): string[] {
  return [
    key.name,
    `${key.prefix}…`,
    stateOf(key, Date.now()),
    iso(key.created)?.slice(0, 10) ?? key.origin,
    iso(key.expires) ?? 'never',
    key.settings.models?.join(',') ?? 'all',
    key.id,
  ];
}

function iso(moment: number | undefined): string | undefined {
  return moment === undefined ? undefined : new Date(moment).toISOString();
}
