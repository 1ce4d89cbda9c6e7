/** API keys: generation, digest, checksum and state. */

import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { EARLIEST_TIME_MS } from '../core/clock.ts';
import { matchesGlob } from '../core/glob.ts';
import type { KeySettings } from '../records/key-settings.ts';
import { tagText } from '../records/tags.ts';

/** Prefix of every key, which makes leaked keys recognisable. */
const KEY_PREFIX = 'sk-pg-';

/** A clock that is hours off ends no secret. */
const MAX_AHEAD_MS = 12 * 3600 * 1000;

const RANDOM_BYTES = 32;
const CHECKSUM_LENGTH = 6;
const KEY_LENGTH = KEY_PREFIX.length + 43 + CHECKSUM_LENGTH;

export interface KeyFacts {
  id: string;
  name: string;
  /** First characters, to tell keys apart. */
  prefix: string;
  origin: 'store' | 'configuration';
  /** Unix milliseconds, like all timestamps of a key; absent for keys of the configuration. */
  created?: number;
  updated?: number;
  /** Expiry. */
  expires?: number;
  revoked?: number;
  /** Temporarily refused. */
  disabled?: boolean;
  /** Expiry of the previous secret, while both are valid. */
  previousUntil?: number;
  secretCreated?: number;
  /** Precise to the minute. */
  lastUsed?: number;
  /** Last use by the current secret. */
  secretLastUsed?: number;
  /** Permissions and limits. */
  settings: KeySettings;
}

export interface Key extends KeyFacts {
  /** Text of its tags on usage records. */
  tags: string;
  /** Whether the key may use a model, given as `<provider>/<model>`. */
  allows(model: string): boolean;
}

export type KeyState = 'active' | 'expired' | 'disabled' | 'revoked';

/** A new random key with a checksum at its end, by which secret scanners recognise it. */
export function generateKey(): string {
  const text = KEY_PREFIX + randomBytes(RANDOM_BYTES).toString('base64url');
  return text + checksum(text);
}

/** False for a generated key with a wrong checksum; keys of earlier versions and of the configuration have none. */
export function isIntact(key: string): boolean {
  if (!key.startsWith(KEY_PREFIX) || key.length !== KEY_LENGTH) return true;
  return key.endsWith(checksum(key.slice(0, -CHECKSUM_LENGTH)));
}

function checksum(text: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(text));
  return bytes.toString('base64url');
}

/** Stored digest of a key. Keys are long and random, so a fast hash suffices. */
export function digestOf(key: string): string {
  return hash('sha256', key, 'base64url');
}

/** A key that a client presents. */
export interface PresentedKey {
  text: string;
  /** Absent if the checksum is wrong. */
  digest: string | undefined;
}

/** Digest of a presented key; undefined if the checksum is wrong, so that no look-up is needed. */
export function presentedKey(text: string): PresentedKey {
  return { text, digest: isIntact(text) ? digestOf(text) : undefined };
}

/** Short enough to keep the rest unguessable, also for configured keys. */
export function shownPrefix(key: string): string {
  return key.slice(0, key.startsWith(KEY_PREFIX) ? 8 : 4);
}

/** State at `now`, in Unix milliseconds; of several states, `revoked` comes first and `expired` last. */
export function stateOf(key: KeyFacts, now: number): KeyState {
  if (key.revoked !== undefined) return 'revoked';
  if (key.disabled) return 'disabled';
  return key.expires !== undefined && now >= key.expires ? 'expired' : 'active';
}

/** Whether the previous secret is valid. Where the current one was made far ahead of the clock, the rest of its time is not known: the clock was set back since. */
export function hasPrevious({ previousUntil = 0, secretCreated = 0 }: KeyFacts, now: number): boolean {
  return now < previousUntil && (secretCreated <= now + MAX_AHEAD_MS || now < EARLIEST_TIME_MS);
}

export function keyOf(facts: KeyFacts): Key {
  const { models, tags } = facts.settings;
  return {
    ...facts,
    tags: tagText(tags),
    allows: (model) => models === undefined || models.some((glob) => matchesGlob(glob, model)),
  };
}
