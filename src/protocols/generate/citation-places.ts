/** Places in the text of an answer: offsets in bytes of UTF-8, which this wire counts in, in UTF-16 units, which the hub counts in, and of quotes. */

/** Units between two places whose byte offset is kept. */
const STEP = 64;

export interface ByteOffsets {
  /** The bytes before a unit; those of a pair count behind its second half. */
  byteAt(unit: number): number;
  /** The first unit that begins at or after a byte offset; the end for offsets behind it. */
  unitAt(byte: number): number;
}

export function byteOffsets(text: string): ByteOffsets {
  const kept = new Uint32Array(Math.floor(text.length / STEP) + 1);
  for (let unit = 0, bytes = 0; unit <= text.length; unit++) {
    if (unit % STEP === 0) kept[unit / STEP] = bytes;
    bytes += bytesOf(text, unit);
  }

  function byteAt(unit: number): number {
    const most = Math.min(Math.max(unit, 0), text.length);
    const place = Math.floor(most / STEP);
    let bytes = kept[place] as number;
    for (let at = place * STEP; at < most; at++) bytes += bytesOf(text, at);
    return bytes;
  }

  function unitAt(byte: number): number {
    let low = 0;
    let high = kept.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((kept[middle] as number) < byte) low = middle;
      else high = middle - 1;
    }
    let unit = low * STEP;
    for (let bytes = kept[low] as number; bytes < byte && unit < text.length; unit++) bytes += bytesOf(text, unit);
    return unit;
  }

  return { byteAt, unitAt };
}

/** Bytes between a unit and the next one: of a pair, all behind its second half. */
function bytesOf(text: string, unit: number): number {
  const code = text.charCodeAt(unit);
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  if (isHigh(code) && isLow(text.charCodeAt(unit + 1))) return 0;
  return isLow(code) && isHigh(text.charCodeAt(unit - 1)) ? 4 : 3;
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00;
}

function isLow(code: number): boolean {
  return code >= 0xdc00 && code < 0xe000;
}

/** Characters that may be searched for the quotes of an answer, besides its texts once. */
const SEARCHED_CHARACTERS = 4 * 1024 * 1024;
/** Beginning of a quote that is searched for: the time of longer searches may be the product of both lengths. */
const HEAD_CHARACTERS = 128;

/** Of one answer. */
export interface SearchBudget {
  /** Characters that may still be searched. */
  left: number;
}

export function createSearchBudget(): SearchBudget {
  return { left: SEARCHED_CHARACTERS };
}

/** Finds the first place of a quote; -1 for one that is not there, and where the budget does not last. */
export function createQuoteSearch(text: string, budget: SearchBudget): (quote: string) => number {
  const known = new Map<string, number>();
  budget.left += text.length;

  function search(quote: string): number {
    const head = quote.slice(0, HEAD_CHARACTERS);
    const last = text.length - quote.length;
    for (let from = 0; from <= last && budget.left > 0; ) {
      const at = text.indexOf(head, from);
      budget.left -= (at < 0 ? text.length : at) - from + quote.length;
      if (at < 0 || text.startsWith(quote, at)) return at;
      from = at + 1;
    }
    return -1;
  }

  return (quote) => {
    const found = known.get(quote) ?? search(quote);
    known.set(quote, found);
    return found;
  };
}
