/** First key of a new gateway: read from a file, or made and shown where only this machine can reach the gateway. */

import type { Config } from '../config/resolved.ts';
import { systemClock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import { isLoopback } from '../core/loopback.ts';
import { isIntact, type Key, stateOf } from '../keys/key.ts';
import type { KeyStore } from '../keys/store.ts';
import { initialSettings } from '../records/key-settings.ts';
import { readSecretFile } from '../security/secret-file.ts';

const FIRST_KEY_VARIABLE = 'POLYGATE_FIRST_KEY_FILE';

/** Requires the length of an admin token, because the key may use everything. */
const KEY_PATTERN = /^[\x21-\x7e]{32,200}$/;

/** Text of the key in the file that the environment names, if it names one. Throws `invalid_request`. */
export function readFirstKey(environment: Readonly<Record<string, string | undefined>>): string | undefined {
  const path = environment[FIRST_KEY_VARIABLE];
  if (!path) return undefined;
  const key = readOrExplain(path);
  if (!KEY_PATTERN.test(key)) throw invalid(path, 'must hold a key of 32 to 200 characters without spaces');
  if (!isIntact(key)) throw invalid(path, 'holds a key of which characters are missing or changed');
  return key;
}

/** Makes the key that is shown once. A gateway that others can reach has none until its operator makes one. */
export async function makeFirstKey(keys: KeyStore, { server, allotments }: Config): Promise<string | undefined> {
  if (!isLoopback(server.host)) return undefined;
  return (await keys.createFirst(initialSettings(allotments.keyDefaults)))?.secret;
}

/** Returns why every request is refused, for the operator; undefined if there is an active key or only this machine can ask. */
export function missingKeyWarning({ server }: Config, keys: readonly Key[]): string | undefined {
  if (isLoopback(server.host) || keys.some((key) => stateOf(key, systemClock.now()) === 'active')) return undefined;
  const what = keys.length === 0 ? 'There is no API key yet' : 'No API key is active';
  return (
    `${what}, so every request is refused. Make one with "polygate keys create --name NAME" beside the gateway; ` +
    'it counts within a second.'
  );
}

function readOrExplain(path: string): string {
  try {
    return readSecretFile(path);
  } catch (error) {
    throw invalid(path, (error as Error).message);
  }
}

function invalid(path: string, reason: string): GatewayError {
  return new GatewayError('invalid_request', `${FIRST_KEY_VARIABLE}: ${path} ${reason}.`);
}
