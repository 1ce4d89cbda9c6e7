/** Mark search: whether a frame contains any of several short ASCII sequences. */

/** Bytes of a frame, or the same bytes as Latin-1 text, with the same indexes. */
export type FrameText = Buffer | string;

export type MarkSearch = (text: FrameText, from?: number) => boolean;

/** Size up to which one regular expression is faster than a native search for each mark. */
export const MAX_TEXT_BYTES = 4096;

export function frameText(frame: Buffer): FrameText {
  return frame.length <= MAX_TEXT_BYTES ? frame.toString('latin1') : frame;
}

/** Searches by their marks. All marks are those of protocols, so there are few. */
const searches = new Map<string, MarkSearch>();

/** Creates a search for any of several Latin-1 texts; the same marks share one search. */
export function createMarkSearch(marks: readonly string[]): MarkSearch {
  const pattern = [...new Set(marks)].map((mark) => RegExp.escape(mark)).join('|');
  const known = searches.get(pattern);
  if (known) return known;
  const expression = new RegExp(pattern, 'g');
  const bytes = marks.map((mark) => Buffer.from(mark, 'latin1'));
  const search: MarkSearch = (text, from = 0) => {
    if (typeof text !== 'string') return bytes.some((mark) => text.indexOf(mark, from) >= 0);
    expression.lastIndex = from;
    return expression.test(text);
  };
  searches.set(pattern, search);
  return search;
}
