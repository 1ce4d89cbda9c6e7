/** Sandbox tokenizer: a token is a run of up to 16 letters and digits, or of up to 16 other characters, with preceding white space. */

const TOKEN_PATTERN = /\s*(?:[\p{L}\p{M}\p{N}_]{1,16}|[^\s\p{L}\p{M}\p{N}_]{1,16})|\s+/gu;

/** The first `most` tokens of a text. Trailing white space is a token. */
export function tokens(text: string, most = Number.POSITIVE_INFINITY): string[] {
  const found: string[] = [];
  for (const [token] of text.matchAll(TOKEN_PATTERN)) {
    if (found.length >= most) break;
    found.push(token);
  }
  return found;
}

/** The number of tokens; counting stops above `most`. */
export function countTokens(text: string, most = Number.POSITIVE_INFINITY): number {
  let count = 0;
  for (const _token of text.matchAll(TOKEN_PATTERN)) if (++count > most) break;
  return count;
}
