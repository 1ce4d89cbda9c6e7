/** Spans of text that citations are about, in UTF-16 units. */

import type { Citation } from './chat.ts';

interface Span {
  start: number;
  end: number;
}

/** The span in a text of this length; all of the text where the citation has no offsets, or offsets outside of it. */
export function citedSpan({ start = 0, end }: Citation, length: number): Span {
  if (start > length || (end !== undefined && end < start)) return { start: 0, end: length };
  return { start, end: Math.min(end ?? length, length) };
}

/** A citation with offsets into a whole answer, for the part that begins at `offset`; an earlier part has none of it. */
export function placedAt(offset: number, citation: Citation): Citation {
  const { start, end, ...source } = citation;
  const isInside = start !== undefined && end !== undefined && start >= offset;
  return isInside ? { ...source, start: start - offset, end: end - offset } : source;
}
