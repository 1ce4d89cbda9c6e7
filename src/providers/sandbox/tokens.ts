/** The sandbox's own tokenizer: a token is a run of up to 16 letters and digits, or of up to 16 other signs, with the white space before it. */

const TOKEN = /\s*(?:[\p{L}\p{M}\p{N}_]{1,16}|[^\s\p{L}\p{M}\p{N}_]{1,16})|\s+/gu;

/** The tokens of a text; joined they are the text. White space at the end is a token of its own. */
export function tokens(text: string): string[] {
  return text.match(TOKEN) ?? [];
}

export function countTokens(text: string): number {
  return tokens(text).length;
}
