/** Citations: grounding and recitations use UTF-8 byte offsets of the answer's text, the hub UTF-16 offsets of a part. */

import type { Citation } from '../../core/chat.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import {
  type ByteOffsets,
  byteOffsets,
  createQuoteSearch,
  createSearchBudget,
  type SearchBudget,
} from './citation-places.ts';

/** Bound of the work for the citations of one answer, however many an upstream sends. */
export interface CitationBudget {
  searches: SearchBudget;
  /** Characters of sources that may still be repeated: each support names its sources by number. */
  repeated: number;
}

export function createCitationBudget(): CitationBudget {
  return { searches: createSearchBudget(), repeated: REPEATED_CHARACTERS };
}

const REPEATED_CHARACTERS = 4 * 1024 * 1024;
/** Of a repeated source without its texts. */
const CITATION_CHARACTERS = 64;

/** The citations of a candidate whose visible text is `text`; offsets are UTF-16 units into that text. */
export function decodeCitations(candidate: Json, text: string, budget: CitationBudget): Citation[] {
  const { groundingMetadata, citationMetadata } = candidate;
  const locate = createLocator(text, budget.searches);
  return [...decodeGrounding(groundingMetadata, locate, budget), ...decodeRecitations(citationMetadata, locate)];
}

function decodeGrounding(metadata: Json, locate: Locate, budget: CitationBudget): Citation[] {
  if (!isObject(metadata)) return [];
  const sources: Citation[] = (metadata.groundingChunks ?? []).map(decodeSource);
  const supports: Json[] = metadata.groundingSupports ?? [];
  if (supports.length === 0) return sources.filter((source) => source.url !== undefined);
  const cited = new Set<number>();
  return supports.flatMap((support): Citation[] => {
    const indices: number[] = (support.groundingChunkIndices ?? []).filter((index: number) => sources[index]);
    if (indices.length === 0) return [];
    const span = locate(support.segment ?? {});
    return indices.flatMap((index) => {
      const source = sources[index] as Citation;
      if (!cited.has(index)) {
        cited.add(index);
        return [{ ...source, ...span }];
      }
      return repeated(source, budget).map((again) => ({ ...again, ...span }));
    });
  });
}

/** A source that was cited before: without its text, and at last not at all, where the sources of the answer are repeated too often. */
function repeated({ citedText, ...source }: Citation, budget: CitationBudget): Citation[] {
  const address = CITATION_CHARACTERS + (source.url?.length ?? 0) + (source.title?.length ?? 0);
  const whole = address + (citedText?.length ?? 0);
  if (budget.repeated >= whole) {
    budget.repeated -= whole;
    return [{ ...source, ...(citedText !== undefined && { citedText }) }];
  }
  if (budget.repeated < address) return [];
  budget.repeated -= address;
  return [source];
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

function decodeRecitations(metadata: Json, locate: Locate): Citation[] {
  const citations: Json[] = metadata?.citations ?? metadata?.citationSources ?? [];
  return citations.map((citation) => ({
    ...(citation.uri && { url: citation.uri }),
    ...(citation.title && { title: citation.title }),
    ...locate(citation),
  }));
}

type Locate = (segment: Json) => { start?: number; end?: number };

/** Verifies the offsets of a segment by its text; if they don't match, searches for the text. */
function createLocator(text: string, budget: SearchBudget): Locate {
  let offsets: ByteOffsets | undefined;
  let find: ((quote: string) => number) | undefined;
  return ({ startIndex, endIndex, text: quoted }) => {
    if (typeof endIndex === 'number') {
      offsets ??= byteOffsets(text);
      const start = offsets.unitAt(startIndex ?? 0);
      const end = offsets.unitAt(endIndex);
      if (end > start && (!quoted || text.slice(start, end) === quoted)) return { start, end };
    }
    if (!quoted) return {};
    find ??= createQuoteSearch(text, budget);
    const found = find(quoted);
    return found < 0 ? {} : { start: found, end: found + quoted.length };
  };
}

/** A citation of a part's text, and where that part's text begins in the candidate's. */
export interface PlacedCitation {
  citation: Citation;
  /** UTF-16 offset of the part's text in `text`. */
  offset: number;
  /** Length of the part's text, which is cited as a whole when the citation has no offsets. */
  length: number;
}

/** Characters of cited texts, besides as many as the text has: citations without offsets cite a whole part each. */
const CITED_CHARACTERS = 64 * 1024;

/** Grounding metadata over the whole visible text of a candidate; undefined without citations. */
export function encodeCitations(citations: PlacedCitation[], text: string): Json | undefined {
  if (citations.length === 0) return undefined;
  const groundingChunks: Json[] = [];
  const indices = new Map<string, number>();
  const { byteAt } = byteOffsets(text);
  let left = text.length + CITED_CHARACTERS;
  const groundingSupports = citations.map(({ citation, offset, length }) => {
    const key = JSON.stringify([citation.url, citation.title, citation.url ? '' : citation.citedText]);
    const index = indices.get(key) ?? groundingChunks.push(encodeSource(citation)) - 1;
    indices.set(key, index);
    const start = offset + (citation.start ?? 0);
    const end = offset + (citation.end ?? length);
    const cited = text.slice(start, end);
    left -= cited.length;
    const segment = { startIndex: byteAt(start), endIndex: byteAt(end), ...(left >= 0 && { text: cited }) };
    return { segment, groundingChunkIndices: [index] };
  });
  return { groundingChunks, groundingSupports };
}

function encodeSource({ url, title, citedText }: Citation): Json {
  if (url !== undefined) return { web: { uri: url, ...(title && { title }) } };
  return { retrievedContext: { ...(title && { title }), ...(citedText && { text: citedText }) } };
}
