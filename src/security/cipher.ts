/** Encrypts what the store keeps but must not give away: AES-256-GCM, bound to the place where it is kept. */

import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { GatewayError } from '../core/errors.ts';

/** Where a value is kept: the ciphertext of one row or column means nothing in another. */
export interface CiphertextLocation {
  table: string;
  id: string;
  column: string;
}

export interface Cipher {
  /** `v1:<key id>:<nonce>:<ciphertext>:<tag>`, the last three in base64url. */
  encrypt(text: string, location: CiphertextLocation): string;
  /** Throws `unavailable`, in words for the operator, when the key is not there or the text was changed or moved. */
  decrypt(envelope: string, place: CiphertextLocation): string;
  /** The id of the key that encrypts now. */
  readonly keyId: string;
  /** Whether it was encrypted with the key that encrypts now. */
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
    encrypt(text, place) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, currentKey, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(additionalData(place));
      const parts = [nonce, Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]), cipher.getAuthTag()];
      return ['v1', currentId, ...parts.map((part) => part.toString('base64url'))].join(':');
    },
    decrypt(envelope, place) {
      const [version, id = '', ...parts] = envelope.split(':');
      const key = known.get(id);
      if (version !== 'v1' || parts.length !== 3) throw decryptionError('it has an unknown form');
      if (!key)
        throw decryptionError(`it was encrypted with the key ${id}, which belongs in encryption.key or previous_keys`);
      const [nonce, text, tag] = parts.map((part) => Buffer.from(part, 'base64url')) as [Buffer, Buffer, Buffer];
      try {
        const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
        decipher.setAAD(additionalData(place));
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

/** By which a ciphertext names its key; it tells nothing of the key. */
export function keyId(key: Buffer): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 8);
}

function additionalData({ table, id, column }: CiphertextLocation): Buffer {
  return Buffer.from(`${table}|${id}|${column}`);
}

function decryptionError(reason: string, cause?: unknown): GatewayError {
  return new GatewayError('unavailable', `A stored secret cannot be decrypted: ${reason}.`, { cause });
}
