/** Ids of calls and items in a request: unique, and short enough for every server. */

import { createHash } from 'node:crypto';

/** Maximum of OpenAI and of Open Responses. */
const MAX_ID_CHARACTERS = 64;
const DIGEST_CHARACTERS = 48;

/**
 * Gives each call of a conversation an id of its own, also behind its first letters, which those of its item replace; clients
 * may repeat one in a later turn.
 */
export function createCallIds(): (id: string) => string {
  const used = new Set<string>();
  /** The next suffix of a name. */
  const counts = new Map<string, number>();
  return (id) => {
    let name = id.length <= MAX_ID_CHARACTERS ? id : `call_${digestOf(id)}`;
    let count = counts.get(id) ?? 2;
    for (; used.has(plainOf(name)); count++) name = `call_${digestOf(`${count} ${id}`)}`;
    counts.set(id, count);
    used.add(plainOf(name));
    return name;
  };
}

/** The id of an item that belongs to a call. */
export function itemIdOf(prefix: string, callId: string): string {
  const plain = plainOf(callId);
  const isAccepted = /^[a-zA-Z0-9_-]+$/.test(plain) && prefix.length + plain.length < MAX_ID_CHARACTERS;
  return `${prefix}_${isAccepted ? plain : digestOf(callId)}`;
}

/** Without the letters by which servers begin ids of calls and of their items. */
function plainOf(callId: string): string {
  return callId.replace(/^(call|fc|ctc|toolu)_/, '');
}

/** First characters of the SHA-256 digest in hexadecimal. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, DIGEST_CHARACTERS);
}
