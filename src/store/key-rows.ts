/** Rows of API keys: the checks and the writes of every change. */

import { GatewayError } from '../core/errors.ts';
import type { KeySettings } from '../records/key-settings.ts';
import { MAX_METADATA, MAX_TAGS } from '../records/tags.ts';
import type { Transaction } from './operation.ts';

/** Timestamps are Unix milliseconds. */
export interface KeyRow {
  id: string;
  name: string;
  /** JSON. */
  settings: string;
  createdAt: number;
  expiresAt: number | null;
  revokedAt: number | null;
}

export interface SecretRow {
  digest: string;
  /** First characters of the secret. */
  prefix: string;
}

/** False if the key already exists. */
export async function addKey(
  transaction: Transaction,
  key: KeyRow & { version: number },
  { digest, prefix }: SecretRow,
): Promise<boolean> {
  const { id, name, settings, createdAt, expiresAt, revokedAt, version } = key;
  const row = {
    id,
    name,
    settings,
    created_at: createdAt,
    updated_at: createdAt,
    expires_at: expiresAt,
    revoked_at: revokedAt,
    version,
  };
  const added = await transaction.insert('api_key', [row], { ignoreDuplicates: true });
  const secret = { digest, key_id: id, prefix, created_at: createdAt };
  await transaction.insert('api_key_secret', [secret], { ignoreDuplicates: true });
  return added > 0;
}

/** A patch is merged into the stored settings. */
export function requireBoundedLabels(settings: string): void {
  const { tags, metadata }: KeySettings = JSON.parse(settings);
  for (const [param, labels, most] of [
    ['tags', tags, MAX_TAGS] as const,
    ['metadata', metadata, MAX_METADATA] as const,
  ])
    if (Object.keys(labels ?? {}).length > most)
      throw new GatewayError('invalid_request', `${param} must have at most ${most} entries.`, { param });
}

type Named = Pick<KeyRow, 'id' | 'name'>;

/** Throws `invalid_request` if another active key has the name. `now` in Unix milliseconds. */
export async function requireFreeName(transaction: Transaction, { id, name }: Named, now: number): Promise<void> {
  const sql = `SELECT id FROM api_key WHERE name = :name AND id <> :id AND revoked_at IS NULL AND disabled = 0
    AND (expires_at IS NULL OR expires_at > :now)`;
  if ((await transaction.all(sql, { id, name, now })).length === 0) return;
  throw new GatewayError(
    'invalid_request',
    `There is already a key named "${name}". Choose another name, revoke that key, or give it a new secret: polygate keys rotate ${name}`,
    {
      param: 'name',
    },
  );
}

/** Fields of a key in the audit log. */
export function auditValues({ name, settings, expiresAt, disabled = false }: KeyRow & { disabled?: boolean }): object {
  return { name, disabled, expires_at: expiresAt, settings: JSON.parse(settings) };
}
