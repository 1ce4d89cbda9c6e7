/** What an API key is: random text for its owner, a digest and a few facts for us. */

import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { KeySettings } from '../records/key-settings.ts';
import { matchesGlob } from './glob.ts';

/** Begins every key, so that one is recognised where it doesn't belong. */
const KEY_PREFIX = 'sk-pg-';

const RANDOM_BYTES = 32;
const CHECKSUM_LENGTH = 6;
const KEY_LENGTH = KEY_PREFIX.length + 43 + CHECKSUM_LENGTH;

export interface KeyFacts {
  id: string;
  name: string;
  /** Its first characters, to tell keys apart. */
  prefix: string;
  origin: 'store' | 'configuration';
  /** Unix milliseconds, as all moments of a key; absent for keys of the configuration. */
  created?: number;
  updated?: number;
  /** Refused from this moment on. */
  expires?: number;
  revoked?: number;
  /** Refused until somebody takes that back. */
  disabled?: boolean;
  /** When the secret before the current one ends, while both work. */
  previousUntil?: number;
  /** To the minute. */
  lastUsed?: number;
  /** What it may do. */
  settings: KeySettings;
}

export interface Key extends KeyFacts {
  /** Whether it may use the model, given as `<provider>/<model>`. */
  allows(model: string): boolean;
}

export type KeyState = 'active' | 'expired' | 'disabled' | 'revoked';

/** A new key, which only its owner will ever see. It ends with a checksum, by which tools tell keys from other text. */
export function generateKey(): string {
  const text = KEY_PREFIX + randomBytes(RANDOM_BYTES).toString('base64url');
  return text + checksum(text);
}

/** False for a key of ours that was mistyped or cut; keys of earlier versions and of the configuration have no checksum. */
export function isIntact(key: string): boolean {
  if (!key.startsWith(KEY_PREFIX) || key.length !== KEY_LENGTH) return true;
  return key.endsWith(checksum(key.slice(0, -CHECKSUM_LENGTH)));
}

function checksum(text: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(text));
  return bytes.toString('base64url');
}

/** What is stored instead of a key. Keys are long and random, so a fast hash is enough. */
export function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url');
}

/** Little enough to keep the rest unguessable, of a key somebody else made too. */
export function shownPrefix(key: string): string {
  return key.slice(0, key.startsWith(KEY_PREFIX) ? 8 : 4);
}

export function stateOf(key: KeyFacts, now: number): KeyState {
  if (key.revoked !== undefined) return 'revoked';
  if (key.disabled) return 'disabled';
  return key.expires !== undefined && now >= key.expires ? 'expired' : 'active';
}

export function keyOf(facts: KeyFacts): Key {
  const { models } = facts.settings;
  return { ...facts, allows: (model) => models === undefined || models.some((glob) => matchesGlob(glob, model)) };
}
