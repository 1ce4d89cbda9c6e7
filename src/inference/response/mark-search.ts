/** Mark search: whether a frame holds any of some short ASCII sequences. */

/** A frame's bytes, or the same bytes as a text of one character each. Both have the same indexes. */
export type FrameText = Buffer | string;

export type MarkSearch = (text: FrameText, from?: number) => boolean;

/** In frames up to this size one expression finds all marks sooner than a native search finds one. */
const MAX_TEXT_BYTES = 4096;

export function frameText(frame: Buffer): FrameText {
  return frame.length <= MAX_TEXT_BYTES ? frame.toString('latin1') : frame;
}

export function createMarkSearch(marks: readonly string[]): MarkSearch {
  const expression = new RegExp([...new Set(marks)].map((mark) => RegExp.escape(mark)).join('|'), 'g');
  const bytes = marks.map((mark) => Buffer.from(mark, 'latin1'));
  return (text, from = 0) => {
    if (typeof text !== 'string') return bytes.some((mark) => text.indexOf(mark, from) >= 0);
    expression.lastIndex = from;
    return expression.test(text);
  };
}
