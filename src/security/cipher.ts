/** Encryption of stored secrets: AES-256-GCM with the location of the value as additional data. */

import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
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
  /** Encrypts bytes like `encrypt`; returns the key id, the nonce, the ciphertext and the tag. */
  seal(bytes: Uint8Array, location: CiphertextLocation): Buffer;
  /** Throws like `decrypt`. */
  open(sealed: Uint8Array, location: CiphertextLocation): Buffer;
  /** Encrypts like `seal`, in pieces that are given one after another. */
  startSeal(location: CiphertextLocation): SealInProgress;
  /** Begins a digest, in base64url, that only holders of the current key can compute. */
  startDigest(): DigestInProgress;
  /** Id of the current key. */
  readonly keyId: string;
  /** Whether it was encrypted with the current key. */
  isCurrent(envelope: string): boolean;
  /** Whether it was sealed with the current key. */
  isCurrentlySealed(sealed: Uint8Array): boolean;
}

export interface SealInProgress {
  update(bytes: Uint8Array): void;
  /** The sealed bytes of all pieces. */
  end(): Buffer;
}

export interface DigestInProgress {
  update(bytes: Uint8Array): void;
  end(): string;
}

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Key id at the start of sealed bytes. */
const KEY_ID_BYTES = 4;
const SEALED_HEAD_BYTES = KEY_ID_BYTES + NONCE_BYTES;

/** The first key encrypts; all of them decrypt. Each has 32 bytes. */
export function createCipher(keys: readonly Buffer[]): Cipher {
  const known = new Map(keys.map((key) => [keyId(key), secretKeyOf(key)]));
  const [current] = known;
  if (!current) throw wrongKey();
  const [currentId, currentKey] = current;
  const digestKey = createSecretKey(createHmac('sha256', currentKey).update('digests').digest());

  function startSeal(location: CiphertextLocation): SealInProgress {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, currentKey, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(additionalData(location));
    const pieces: Buffer[] = [Buffer.from(currentId, 'hex'), nonce];
    return {
      update: (bytes) => void pieces.push(cipher.update(bytes)),
      end: () => Buffer.concat([...pieces, cipher.final(), cipher.getAuthTag()]),
    };
  }

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
      if (!key) throw unknownKeyError(id);
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
    seal(bytes, location) {
      const sealing = startSeal(location);
      sealing.update(bytes);
      return sealing.end();
    },
    startSeal,
    open(sealed, location) {
      const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.length);
      const id = bytes.toString('hex', 0, KEY_ID_BYTES);
      const key = known.get(id);
      if (!key) throw unknownKeyError(id);
      try {
        const nonce = bytes.subarray(KEY_ID_BYTES, SEALED_HEAD_BYTES);
        const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
        decipher.setAAD(additionalData(location));
        decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
        return Buffer.concat([decipher.update(bytes.subarray(SEALED_HEAD_BYTES, -TAG_BYTES)), decipher.final()]);
      } catch (cause) {
        throw decryptionError('it was changed or moved', cause);
      }
    },
    startDigest() {
      const digest = createHmac('sha256', digestKey);
      return { update: (bytes) => void digest.update(bytes), end: () => digest.digest('base64url') };
    },
    keyId: currentId,
    isCurrentlySealed: (sealed) => Buffer.from(sealed.subarray(0, KEY_ID_BYTES)).toString('hex') === currentId,
    isCurrent: (envelope) => envelope.startsWith(`v1:${currentId}:`),
  };
}

/** Of the bytes of a key, each cipher would make such an object, which takes longer than the rest of a small one. */
function secretKeyOf(key: Buffer): KeyObject {
  if (key.length !== KEY_BYTES) throw wrongKey();
  return createSecretKey(key);
}

function wrongKey(): GatewayError {
  return new GatewayError('invalid_request', `An encryption key has ${KEY_BYTES} bytes.`);
}

/** Id of a key in its ciphertexts; it reveals nothing of the key. */
export function keyId(key: Buffer): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 8);
}

function additionalData({ table, id, column }: CiphertextLocation): Buffer {
  return Buffer.from(`${table}|${id}|${column}`);
}

function unknownKeyError(id: string): GatewayError {
  return decryptionError(`it was encrypted with the key ${id}, which belongs in encryption.key or previous_keys`);
}

function decryptionError(reason: string, cause?: unknown): GatewayError {
  return new GatewayError('unavailable', `A stored secret cannot be decrypted: ${reason}.`, { cause });
}
