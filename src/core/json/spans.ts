/** Repeated values in JSON text, and their replacement. */

import { type Span, skipSpace, stringEnd, valueEnd, visitMembers } from './json.ts';

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

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;

/**
 * The span of the first member at one of the paths in a text without escaped names. Reads no further than its end, and
 * no byte twice.
 */
export function firstSpanAt(bytes: Buffer, paths: readonly (readonly string[])[], from = 0): Span | undefined {
  let position = skipSpace(bytes, from);
  if (bytes[position] !== OPEN_BRACE) return undefined;
  do {
    const keyStart = skipSpace(bytes, position + 1);
    if (bytes[keyStart] !== QUOTE) return undefined;
    const keyEnd = stringEnd(bytes, keyStart);
    const colon = skipSpace(bytes, keyEnd);
    if (bytes[colon] !== COLON) return undefined;
    const start = skipSpace(bytes, colon + 1);
    const name = bytes.toString('utf8', keyStart + 1, keyEnd - 1);
    if (paths.some(([first]) => first === name)) {
      const rests = paths.filter(([first]) => first === name).map(([, ...rest]) => rest);
      if (rests.some((rest) => rest.length === 0)) return { start, end: valueEnd(bytes, start) };
      const inner = firstSpanAt(bytes, rests, start);
      if (inner) return inner;
    }
    position = skipSpace(bytes, valueEnd(bytes, start));
  } while (bytes[position] === COMMA);
  return undefined;
}

/** Copy of the bytes with all ranges, in ascending order, replaced by the same text. */
export function spliceAll(bytes: Buffer, spans: readonly Span[], replacement: string): Buffer {
  if (spans.length === 0) return bytes;
  const text = Buffer.from(replacement);
  const pieces: Buffer[] = [];
  let position = 0;
  for (const { start, end } of spans) {
    pieces.push(bytes.subarray(position, start), text);
    position = end;
  }
  pieces.push(bytes.subarray(position));
  return Buffer.concat(pieces);
}
