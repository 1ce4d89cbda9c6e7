/** Encryption of stored secrets: AES-256-GCM with the location of the value as additional data. */

import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { GatewayError } from '../core/errors.ts';

/** Location of a value: a ciphertext cannot be decrypted in another row or column. */
export interface CiphertextLocation {
  table: string;
  id: string;
  column: string;
}

export interface Cipher {
  /** `v1:<key id>:<nonce>:<ciphertext>:<tag>`, the last three in base64url. */
  encrypt(text: string, location: CiphertextLocation): string;
  /** Throws `unavailable`, for the operator, if the key is missing or the text was changed or moved. */
  decrypt(envelope: string, location: CiphertextLocation): string;
  /** Id of the current key. */
  readonly keyId: string;
  /** Whether it was encrypted with the current key. */
  isCurrent(envelope: string): boolean;
}

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The first key encrypts; all of them decrypt. Each has 32 bytes. */
export function createCipher(keys: readonly Buffer[]): Cipher {
  const known = new Map(keys.map((key) => [keyId(key), key]));
  const [current] = known;
  if (!current || keys.some((key) => key.length !== KEY_BYTES)) {
    throw new GatewayError('invalid_request', `An encryption key has ${KEY_BYTES} bytes.`);
  }
  const [currentId, currentKey] = current;

  return {
    encrypt(text, location) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, currentKey, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(additionalData(location));
      const parts = [nonce, Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]), cipher.getAuthTag()];
      return ['v1', currentId, ...parts.map((part) => part.toString('base64url'))].join(':');
    },
    decrypt(envelope, location) {
      const [version, id = '', ...parts] = envelope.split(':');
      const key = known.get(id);
      if (version !== 'v1' || parts.length !== 3) throw decryptionError('it has an unknown form');
      if (!key)
        throw decryptionError(`it was encrypted with the key ${id}, which belongs in encryption.key or previous_keys`);
      const [nonce, text, tag] = parts.map((part) => Buffer.from(part, 'base64url')) as [Buffer, Buffer, Buffer];
      try {
        const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
        decipher.setAAD(additionalData(location));
        decipher.setAuthTag(tag);
        return Buffer.concat([decipher.update(text), decipher.final()]).toString('utf8');
      } catch (cause) {
        throw decryptionError('it was changed or moved', cause);
      }
    },
    keyId: currentId,
    isCurrent: (envelope) => envelope.startsWith(`v1:${currentId}:`),
  };
}

/** Id of a key in its ciphertexts; it reveals nothing of the key. */
export function keyId(key: Buffer): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 8);
}

function additionalData({ table, id, column }: CiphertextLocation): Buffer {
  return Buffer.from(`${table}|${id}|${column}`);
}

function decryptionError(reason: string, cause?: unknown): GatewayError {
  return new GatewayError('unavailable', `A stored secret cannot be decrypted: ${reason}.`, { cause });
}
