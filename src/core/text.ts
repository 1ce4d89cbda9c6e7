/** Suffix removal without a regular expression, which would take quadratic time. */

/** Removes all trailing occurrences of a character. */
export function withoutEnd(text: string, character: string): string {
  let end = text.length;
  while (text[end - 1] === character) end--;
  return text.slice(0, end);
}
