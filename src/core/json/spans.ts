/** Repeated values in JSON text, and their replacement. */

import { type Span, skipSpace, visitMembers } from './json.ts';

const OPEN_BRACE = 123;

/** The spans of all members at a path; a name may be repeated, and readers differ in which one they use. */
export function everySpanAt(bytes: Buffer, paths: readonly (readonly string[])[]): Span[] {
  const found: Span[] = [];
  if (bytes[skipSpace(bytes, 0)] !== OPEN_BRACE) return found;
  visitMembers(bytes, (name, start, end) => {
    if (!paths.some(([first]) => first === name)) return;
    const rests = paths.filter(([first]) => first === name).map(([, ...rest]) => rest);
    if (rests.some((rest) => rest.length === 0)) found.push({ start, end });
    else
      for (const inner of everySpanAt(bytes.subarray(start, end), rests))
        found.push({ start: start + inner.start, end: start + inner.end });
  });
  return found;
}

/** Copy of the bytes with all ranges, in ascending order, replaced by the same text. */
export function spliceAll(bytes: Buffer, spans: readonly Span[], replacement: string): Buffer {
  if (spans.length === 0) return bytes;
  const text = Buffer.from(replacement);
  let position = 0;
  const pieces = spans.flatMap(({ start, end }) => {
    const before = bytes.subarray(position, start);
    position = end;
    return [before, text];
  });
  return Buffer.concat([...pieces, bytes.subarray(position)]);
}
