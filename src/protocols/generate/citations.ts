/** Citations: grounding and recitations use UTF-8 byte offsets of the answer's text, the hub UTF-16 offsets of a part. */

import type { Citation } from '../../core/chat.ts';
import { isObject, type Json } from '../../core/json/json.ts';

/** The citations of a candidate whose visible text is `text`; offsets are UTF-16 units into that text. */
export function decodeCitations(candidate: Json, text: string): Citation[] {
  const { groundingMetadata, citationMetadata } = candidate;
  return [...decodeGrounding(groundingMetadata, text), ...decodeRecitations(citationMetadata, text)];
}

function decodeGrounding(metadata: Json, text: string): Citation[] {
  if (!isObject(metadata)) return [];
  const sources = (metadata.groundingChunks ?? []).map(decodeSource);
  const supports: Json[] = metadata.groundingSupports ?? [];
  const locate = createLocator(text);
  if (supports.length === 0) return sources.filter((source: Citation) => source.url !== undefined);
  return supports.flatMap((support): Citation[] => {
    const span = locate(support.segment ?? {});
    const indices: number[] = support.groundingChunkIndices ?? [];
    return indices.flatMap((index) => (sources[index] ? [{ ...sources[index], ...span }] : []));
  });
}

/** Addresses of the pages that a candidate is grounded on. */
export function sourcesIn({ groundingMetadata }: Json): string[] {
  const sources: Citation[] = (groundingMetadata?.groundingChunks ?? []).map(decodeSource);
  return [...new Set(sources.flatMap(({ url }) => url ?? []))];
}

function decodeSource(chunk: Json): Citation {
  const source = chunk?.web ?? chunk?.maps ?? chunk?.image ?? chunk?.retrievedContext ?? {};
  const url = source.uri ?? source.sourceUri;
  return {
    ...(url && { url }),
    ...(source.title && { title: source.title }),
    ...(source.text && { citedText: source.text }),
  };
}

function decodeRecitations(metadata: Json, text: string): Citation[] {
  const citations: Json[] = metadata?.citations ?? metadata?.citationSources ?? [];
  const locate = createLocator(text);
  return citations.map((citation) => ({
    ...(citation.uri && { url: citation.uri }),
    ...(citation.title && { title: citation.title }),
    ...locate(citation),
  }));
}

/** Verifies the offsets of a segment by its text; if they don't match, searches for the text. */
function createLocator(text: string): (segment: Json) => { start?: number; end?: number } {
  const bytes = byteOffsets(text);
  return ({ startIndex, endIndex, text: quoted }) => {
    if (typeof endIndex === 'number') {
      const start = unitAt(bytes, startIndex ?? 0);
      const end = unitAt(bytes, endIndex);
      if (end > start && (!quoted || text.slice(start, end) === quoted)) return { start, end };
    }
    const found = quoted ? text.indexOf(quoted) : -1;
    return found < 0 ? {} : { start: found, end: found + quoted.length };
  };
}

/** The UTF-8 offset of each UTF-16 unit of a text, and of its end. */
function byteOffsets(text: string): Float64Array {
  const offsets = new Float64Array(text.length + 1);
  let bytes = 0;
  for (let index = 0; index < text.length; index++) {
    offsets[index] = bytes;
    const code = text.codePointAt(index) as number;
    if (code > 0xffff) offsets[++index] = bytes;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  offsets[text.length] = bytes;
  return offsets;
}

/** The first unit that begins at or after a UTF-8 offset; the end for offsets behind it. */
function unitAt(bytes: Float64Array, offset: number): number {
  let low = 0;
  let high = bytes.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((bytes[middle] as number) < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A citation of a part's text, and where that part's text begins in the candidate's. */
export interface PlacedCitation {
  citation: Citation;
  /** UTF-16 offset of the part's text in `text`. */
  offset: number;
  /** Length of the part's text, which is cited as a whole when the citation has no offsets. */
  length: number;
}

/** Grounding metadata over the whole visible text of a candidate; undefined without citations. */
export function encodeCitations(citations: PlacedCitation[], text: string): Json | undefined {
  if (citations.length === 0) return undefined;
  const groundingChunks: Json[] = [];
  const indices = new Map<string, number>();
  const bytes = byteOffsets(text);
  const byteAt = (unit: number): number => bytes[Math.min(Math.max(unit, 0), text.length)] ?? 0;
  const groundingSupports = citations.map(({ citation, offset, length }) => {
    const key = JSON.stringify([citation.url, citation.title, citation.url ? '' : citation.citedText]);
    const index = indices.get(key) ?? groundingChunks.push(encodeSource(citation)) - 1;
    indices.set(key, index);
    const start = offset + (citation.start ?? 0);
    const end = offset + (citation.end ?? length);
    const segment = {
      startIndex: byteAt(start),
      endIndex: byteAt(end),
      text: text.slice(start, end),
    };
    return { segment, groundingChunkIndices: [index] };
  });
  return { groundingChunks, groundingSupports };
}

function encodeSource({ url, title, citedText }: Citation): Json {
  if (url !== undefined) return { web: { uri: url, ...(title && { title }) } };
  return { retrievedContext: { ...(title && { title }), ...(citedText && { text: citedText }) } };
}
