/** What is encrypted in the store, and the keys that it is encrypted with. */

import { loadEncryptionKeys } from './config/encryption-key.ts';
import type { Config } from './config/resolved.ts';
import { createCipher } from './core/cipher.ts';
import { GatewayError } from './core/errors.ts';
import type { Store } from './store/store.ts';
import { createSecrets, type WebhookSecrets } from './webhooks/secrets.ts';

export interface OpenedSecrets {
  webhooks: WebhookSecrets;
  /** The first one encrypts. */
  keys: [Buffer, ...Buffer[]];
}

/** A new encryption key where there is none is only good for a store that holds nothing encrypted yet. */
export async function openSecrets({ config, store }: { config: Config; store: Store }): Promise<OpenedSecrets> {
  const encrypted = await store.call('scanSecrets', { after: '', limit: 1 });
  const mayCreate = encrypted.length === 0;
  const [first, ...others] = loadEncryptionKeys({ ...config.encryption, data: config.data, mayCreate });
  if (!first) throw new GatewayError('invalid_request', 'The encryption key file is empty.');
  const keys: OpenedSecrets['keys'] = [first, ...others];
  return { keys, webhooks: createSecrets({ store, cipher: createCipher(keys), fallback: config.callbacks.secret }) };
}
