/** Ids that can be stored: PostgreSQL text cannot contain NUL, and no id does. */

const MAX_ID_CHARACTERS = 512;

/** Whether an id can be stored: a text of 1 to `MAX_ID_CHARACTERS` characters without NUL. */
export function isStorableId(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.length <= MAX_ID_CHARACTERS && !id.includes('\0');
}
