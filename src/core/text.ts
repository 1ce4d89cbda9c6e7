/** Ends of texts. A regular expression for them would be tried anew at every place in the text. */

/** The text without that character at its end, however often it stands there. */
export function withoutEnd(text: string, character: string): string {
  let end = text.length;
  while (text[end - 1] === character) end--;
  return text.slice(0, end);
}
