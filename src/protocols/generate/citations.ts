/** Where an answer comes from: grounding and recitations count in UTF-8 bytes of the answer's text, the hub in UTF-16 units of a part. */

import type { Citation } from '../../core/chat.ts';
import { isObject, type Json } from '../../core/json.ts';

/** The citations of a candidate whose visible text is `text`; offsets are UTF-16 units into that text. */
export function decodeCitations(candidate: Json, text: string): Citation[] {
  const { groundingMetadata, citationMetadata } = candidate;
  return [...decodeGrounding(groundingMetadata, text), ...decodeRecitations(citationMetadata, text)];
}

function decodeGrounding(metadata: Json, text: string): Citation[] {
  if (!isObject(metadata)) return [];
  const sources = (metadata.groundingChunks ?? []).map(decodeSource);
  const supports: Json[] = metadata.groundingSupports ?? [];
  if (supports.length === 0) return sources.filter((source: Citation) => source.url !== undefined);
  return supports.flatMap((support): Citation[] => {
    const span = locate(text, support.segment ?? {});
    const indices: number[] = support.groundingChunkIndices ?? [];
    return indices.flatMap((index) => (sources[index] ? [{ ...sources[index], ...span }] : []));
  });
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
  return citations.map((citation) => ({
    ...(citation.uri && { url: citation.uri }),
    ...(citation.title && { title: citation.title }),
    ...locate(text, citation),
  }));
}

/** The segment's own text tells whether its offsets count from where we count; else it is searched for. */
function locate(text: string, segment: Json): { start?: number; end?: number } {
  const { startIndex = 0, endIndex, text: quoted } = segment;
  if (endIndex !== undefined) {
    const bytes = Buffer.from(text);
    const start = bytes.toString('utf8', 0, startIndex).length;
    const end = start + bytes.toString('utf8', startIndex, endIndex).length;
    if (end > start && (!quoted || text.slice(start, end) === quoted)) return { start, end };
  }
  const found = quoted ? text.indexOf(quoted) : -1;
  return found < 0 ? {} : { start: found, end: found + quoted.length };
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
  const groundingSupports = citations.map(({ citation, offset, length }) => {
    const key = JSON.stringify([citation.url, citation.title, citation.url ? '' : citation.citedText]);
    const index = indices.get(key) ?? groundingChunks.push(encodeSource(citation)) - 1;
    indices.set(key, index);
    const start = offset + (citation.start ?? 0);
    const end = offset + (citation.end ?? length);
    const segment = {
      startIndex: Buffer.byteLength(text.slice(0, start)),
      endIndex: Buffer.byteLength(text.slice(0, end)),
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
