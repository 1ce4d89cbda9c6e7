/** `polygate keys`: the API keys of the gateway. */

import { loadConfig } from '../config/load.ts';
import type { Config } from '../config/resolved.ts';
import { parseDuration, parseMoment } from '../config/units.ts';
import { GatewayError } from '../core/errors.ts';
import { type Key, stateOf } from '../keys/key.ts';
import { type KeyStore, openKeyStore } from '../keys/store.ts';
import { type ConfigOptions, configSource } from './source.ts';
import { printJson, printTable } from './table.ts';

const HEADINGS = ['NAME', 'KEY', 'STATE', 'CREATED', 'EXPIRES', 'MODELS', 'ID'];

export function openKeys(config: Config): KeyStore {
  return openKeyStore({ folder: config.data, configured: config.keys });
}

/** The key alone goes to standard output, so that a script can take it from there. */
export function createKey(options: ConfigOptions & { name: string; expires?: string; models?: string }): void {
  const { name, expires, models } = options;
  const globs = models
    ?.split(',')
    .map((glob) => glob.trim())
    .filter((glob) => glob !== '');
  const { key, secret } = openKeys(loadConfig(configSource(options))).create({
    name,
    expires: expires === undefined ? undefined : expiryOf(expires),
    models: globs,
  });
  process.stderr.write(`The key "${key.name}", shown once and stored only as a hash:\n`);
  process.stdout.write(`${secret}\n`);
}

export function listKeys(options: ConfigOptions & { json?: boolean }): void {
  const keys = openKeys(loadConfig(configSource(options))).list();
  if (options.json) printJson(keys.map(facts));
  else printTable(HEADINGS, keys.map(row));
}

export function revokeKey(idOrName: string, options: ConfigOptions): void {
  const key = openKeys(loadConfig(configSource(options))).revoke(idOrName);
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

function facts(key: Key): object {
  return {
    ...key,
    state: stateOf(key, Date.now()),
    created: iso(key.created),
    expires: iso(key.expires),
    revoked: iso(key.revoked),
  };
}

function row(key: Key): string[] {
  return [
    key.name,
    `${key.prefix}…`,
    stateOf(key, Date.now()),
    iso(key.created)?.slice(0, 10) ?? key.origin,
    iso(key.expires) ?? 'never',
    key.models?.join(',') ?? 'all',
    key.id,
  ];
}

function iso(moment: number | undefined): string | undefined {
  return moment === undefined ? undefined : new Date(moment).toISOString();
}
