/** Search for quotes in a text, bounded over all of an answer: an upstream may quote what is not there, again and again. */

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
