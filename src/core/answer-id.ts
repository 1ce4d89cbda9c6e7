/** Ids of answers. Those of translated ones are derived from the request id, which is unique, not from the upstream's id. */

const PREFIX = 'req_';

/** The id without the prefix of a protocol. */
export function answerIdOf(requestId: string): string {
  return requestId.startsWith(PREFIX) ? requestId.slice(PREFIX.length) : requestId;
}

/** The request id in the id of a translated answer of any protocol; undefined for other ids. */
export function requestIdOf(id: string): string | undefined {
  const own = /^(?:chatcmpl-|msg_|resp_)?([0-9a-f]{32})$/.exec(id)?.[1];
  return own && PREFIX + own;
}

/** Characters of an id that can be stored. */
const MAX_STORED_CHARACTERS = 512;

/** Whether an id can be stored: a text of 1 to `MAX_STORED_CHARACTERS` characters without NUL, which PostgreSQL cannot store. */
export function isStorableId(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.length <= MAX_STORED_CHARACTERS && !id.includes('\0');
}
