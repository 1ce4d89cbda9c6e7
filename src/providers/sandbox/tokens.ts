/** The sandbox's own tokenizer: a token is a run of up to 16 letters and digits, or of up to 16 other signs, with the white space before it. */

const TOKEN_PATTERN = /\s*(?:[\p{L}\p{M}\p{N}_]{1,16}|[^\s\p{L}\p{M}\p{N}_]{1,16})|\s+/gu;

/** At most so many tokens of a text; all of them, joined, are the text. White space at the end is a token of its own. */
export function tokens(text: string, most = Number.POSITIVE_INFINITY): string[] {
  const found: string[] = [];
  for (const [token] of text.matchAll(TOKEN_PATTERN)) {
    if (found.length >= most) break;
    found.push(token);
  }
  return found;
}

/** The number of tokens, which is not counted beyond `most`. */
export function countTokens(text: string, most = Number.POSITIVE_INFINITY): number {
  let count = 0;
  for (const _token of text.matchAll(TOKEN_PATTERN)) if (++count > most) break;
  return count;
}
