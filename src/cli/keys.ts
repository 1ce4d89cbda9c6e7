/** `polygate keys`: creates, lists, changes and revokes API keys. */

import { loadConfig } from '../config/load.ts';
import type { Config } from '../config/resolved.ts';
import { merged } from '../core/json/merge.ts';
import { defined } from '../core/plain-objects.ts';
import { openSecrets } from '../gateway/encryption.ts';
import { hasJournal } from '../keys/import-journal.ts';
import { distinctKeys, indexConfiguredKeys } from '../keys/key-index.ts';
import { type CreatedKey, type Key, type KeyStore, openKeyStore } from '../keys/store.ts';
import { initialSettings } from '../records/key-settings.ts';
import type { Cipher } from '../security/cipher.ts';
import type { Author } from '../store/audit-rows.ts';
import { hasStore, openStore } from '../store/open.ts';
import type { Store } from '../store/store.ts';
import { rekeyResponses } from '../stored-responses/rekey.ts';
import type { WebhookSecrets } from '../webhooks/secrets.ts';
import { assertKeyName, type KeyOptions, parseDurationOption, parseExpiry, parseKeySettings } from './key-options.ts';
import { describeKey, fieldRowsOf, HEADINGS, rowOf } from './key-view.ts';
import { type ConfigOptions, configSource } from './source.ts';
import { printJson, printTable } from './table.ts';

type KeyCommandOptions = ConfigOptions & { json?: boolean };

interface OpenedKeys {
  keys: KeyStore;
  store: Store;
  /** Webhook secrets; reads the encryption key. */
  secrets(): Promise<WebhookSecrets>;
  cipher(): Promise<Cipher>;
}

export const AUTHOR: Author = { actor: 'command line' };

export interface StoreCreation {
  /** Creates the store if there is none; by default only for a key journal of an earlier version. */
  createIfMissing?: boolean | undefined;
}

/** Works while a gateway runs on the same store. Throws `not_found` if there is no store. */
export async function withKeys<Result>(
  config: Config,
  work: (opened: OpenedKeys) => Promise<Result>,
  { createIfMissing = hasJournal(config.data) }: StoreCreation = {},
): Promise<Result> {
  const store = await openStore({ ...config, role: 'guest', createIfMissing });
  try {
    const opened = () => openSecrets({ config, store });
    const secrets = async () => (await opened()).webhooks;
    const cipher = async () => (await opened()).cipher;
    const newWebhookSecret = async (owner: string) => (await secrets()).generateFirst(owner);
    const { data: folder, keys: configured, origin } = config;
    const keys = await openKeyStore({ store, folder, configured, origin, newWebhookSecret });
    return await work({ keys, store, secrets, cipher });
  } finally {
    await store.close();
  }
}

/** Keys of the configuration and, if there is a store, of the store. */
export async function allKeys(config: Config): Promise<Key[]> {
  if (!hasStore(config) && !hasJournal(config.data)) return distinctKeys(indexConfiguredKeys(config.keys));
  return withKeys(config, ({ keys }) => keys.list());
}

function withConfiguredKeys<Result>(
  options: ConfigOptions,
  work: (opened: OpenedKeys) => Promise<Result>,
): Promise<Result> {
  return withKeys(loadConfig(configSource(options)), work);
}

export async function createKey({
  name,
  expires,
  ...options
}: KeyCommandOptions & KeyOptions & { name?: string }): Promise<void> {
  if (name === undefined) throw new Error('Give the key a name with --name, or several keys with --from.');
  assertKeyName(name);
  const config = loadConfig(configSource(options));
  const wanted = {
    name,
    settings: merged(initialSettings(config.allotments.keyDefaults), parseKeySettings(options)),
    ...(expires !== undefined && { expires: parseExpiry(expires) }),
  };
  const created = await withKeys(config, ({ keys }) => keys.create(wanted, AUTHOR), { createIfMissing: true });
  if (options.json)
    printJson({ ...describeKey(created.key), secret: created.secret, webhook_secret: created.webhookSecret });
  else printSecret(created, `The key "${name}", shown once and stored only as a hash:`);
}

/** Only the key goes to standard output, so that scripts can capture it. */
function printSecret({ secret }: Pick<CreatedKey, 'secret'>, message: string): void {
  process.stderr.write(`${message}\n`);
  process.stdout.write(`${secret}\n`);
}

export async function listKeys(options: KeyCommandOptions): Promise<void> {
  const config = loadConfig(configSource(options));
  const fixed = config.keys.length > 0;
  const keys = fixed ? await allKeys(config) : await withKeys(config, (store) => store.keys.list());
  if (options.json) printJson(keys.map(describeKey));
  else printTable(HEADINGS, keys.map(rowOf));
}

export async function showKey(idOrName: string, options: KeyCommandOptions): Promise<void> {
  const key = await withConfiguredKeys(options, ({ keys }) => keys.find(idOrName));
  if (options.json) printJson(describeKey(key));
  else printTable(['FIELD', 'VALUE'], fieldRowsOf(key));
}

export async function updateKey(
  idOrName: string,
  { name, expires, ...options }: KeyCommandOptions & KeyOptions & { name?: string },
): Promise<void> {
  assertKeyName(name);
  const settings = parseKeySettings(options);
  const expiresAt = expires === 'never' ? null : expires === undefined ? undefined : parseExpiry(expires);
  const key = await withConfiguredKeys(options, ({ keys }) =>
    keys.update(idOrName, { ...defined({ name, expiresAt }), settings }, AUTHOR),
  );
  if (options.json) printJson(describeKey(key));
  else printTable(['FIELD', 'VALUE'], fieldRowsOf(key));
}

export async function setKeyDisabled(idOrName: string, disabled: boolean, options: KeyCommandOptions): Promise<void> {
  const key = await withConfiguredKeys(options, ({ keys }) => keys.update(idOrName, { disabled }, AUTHOR));
  if (options.json) printJson(describeKey(key));
  else process.stdout.write(`The key "${key.name}" (${key.prefix}…) is ${disabled ? 'disabled' : 'enabled'}.\n`);
}

export async function rotateKey(idOrName: string, options: KeyCommandOptions & { overlap: string }): Promise<void> {
  const overlap = parseDurationOption('--overlap', options.overlap);
  const { key, secret } = await withConfiguredKeys(options, ({ keys }) => keys.rotate(idOrName, overlap, AUTHOR));
  if (options.json) printJson({ ...describeKey(key), secret });
  else
    printSecret(
      { secret },
      `The key "${key.name}" is now this one; the one before it ${overlap === 0 ? 'is refused from now on' : `works for ${options.overlap} more`}:`,
    );
}

export async function revokeKey(idOrName: string, options: KeyCommandOptions): Promise<void> {
  const key = await withConfiguredKeys(options, ({ keys }) => keys.revoke(idOrName, AUTHOR));
  if (options.json) printJson(describeKey(key));
  else process.stdout.write(`The key "${key.name}" (${key.prefix}…) is revoked.\n`);
}

/** Prints the webhook secrets of a key; `rotate` adds a new one first. */
export async function showSecret(
  idOrName: string,
  { rotate, activateIn, ...options }: KeyCommandOptions & { rotate?: boolean; activateIn: string },
): Promise<void> {
  const known = await withConfiguredKeys(options, async ({ keys, secrets }) => {
    const { id, origin } = await keys.find(idOrName);
    const webhooks = await secrets();
    if (origin === 'store') await webhooks.create(id);
    if (rotate) await webhooks.rotate(id, { after: parseDurationOption('--activate-in', activateIn), author: AUTHOR });
    return webhooks.reveal(id, AUTHOR);
  });
  if (known.length === 0)
    throw new Error('A key of the configuration signs with callbacks.secret of the configuration.');
  const described = known.map(({ secret, activeAt }) => ({ secret, active_at: new Date(activeAt).toISOString() }));
  if (options.json) printJson(described);
  else
    printTable(
      ['SECRET', 'SIGNS FROM'],
      described.map(({ secret, active_at: activeAt }) => [secret, activeAt]),
    );
}

export async function rekey(options: KeyCommandOptions): Promise<void> {
  const [responses, changed] = await withConfiguredKeys(options, async ({ store, secrets, cipher }) => [
    await rekeyResponses(store, await cipher()),
    await (await secrets()).rekey(AUTHOR),
  ]);
  if (options.json) printJson({ changed, responses });
  else {
    const stored = responses > 0 ? `, and ${responses} contents of stored responses` : '';
    process.stdout.write(`${changed} secrets were encrypted anew${stored}; the previous encryption keys can go.\n`);
  }
}
