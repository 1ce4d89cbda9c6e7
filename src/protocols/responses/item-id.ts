/** Ids of answers and items that the gateway writes. */

/** Characters of the answer's id within the id of an item; with prefix and position it stays below the limit of 64. */
const MAX_CHARACTERS = 40;

/** Clients expect the prefix. */
export function responseId(id: string): string {
  return id.startsWith('resp_') ? id : `resp_${lettersOf(id)}`;
}

/** The id of an item, by the type's prefix, the answer and the position in it. */
export function itemId(prefix: string, answerId: string, index: number): string {
  return `${prefix}_${lettersOf(answerId)}${index.toString(16).padStart(4, '0')}`;
}

function lettersOf(id: string): string {
  return id
    .replace(/^[a-z]+[_-]/, '')
    .replace(/[^a-zA-Z0-9]/g, '')
    .slice(-MAX_CHARACTERS);
}
