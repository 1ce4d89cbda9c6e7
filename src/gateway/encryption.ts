/** Encryption of stored secrets: keys, key check and webhook secrets. */

import { loadEncryptionKeys } from '../config/encryption-key.ts';
import type { Config } from '../config/resolved.ts';
import { GatewayError } from '../core/errors.ts';
import { type Cipher, createCipher, keyId } from '../security/cipher.ts';
import type { Store } from '../store/store.ts';
import { createWebhookSecrets, type WebhookSecrets } from '../webhooks/secrets.ts';

export interface OpenedSecrets {
  webhooks: WebhookSecrets;
  cipher: Cipher;
  /** The first key encrypts, all decrypt. */
  keys: [Buffer, ...Buffer[]];
}

/**
 * Creates a key only for a store without one: all gateways on a store need the key that it was encrypted with. Throws
 * `invalid_request` with a message for the operator.
 */
export async function openSecrets({ config, store }: { config: Config; store: Store }): Promise<OpenedSecrets> {
  const encrypted = await store.call('scanSecrets', { after: '', limit: 1 });
  const recorded = await store.call('readEncryptionKey', {});
  const mayCreate = encrypted.length === 0 && recorded === undefined;
  const [first, ...others] = loadEncryptionKeys({ ...config.encryption, data: config.data, mayCreate });
  if (!first) throw new GatewayError('invalid_request', 'The encryption key file is empty.');
  const keys: OpenedSecrets['keys'] = [first, ...others];
  const cipher = createCipher(keys);
  const claimedKeyId = recorded ?? (await store.call('claimEncryptionKey', { keyId: keyId(first) }));
  if (!keys.map(keyId).includes(claimedKeyId)) throw wrongKeyError();
  const { secret: fallback, standardHeaders } = config.callbacks;
  return { keys, cipher, webhooks: createWebhookSecrets({ store, cipher, fallback, standardHeaders }) };
}

function wrongKeyError(): GatewayError {
  return new GatewayError(
    'invalid_request',
    'The store was encrypted with another key; give every gateway the same encryption.key, or the same file ' +
      'encryption.key in its data folder. A key that was replaced belongs in encryption.previous_keys.',
  );
}
