/** Sources of an answer: `annotations` with offsets, and lists of sources for the whole answer. */

import type { Citation } from '../../core/chat.ts';
import { citedSpan } from '../../core/cited-span.ts';
import type { Json } from '../../core/json/json.ts';

export function decodeAnnotations(annotations: Json): Citation[] {
  if (!annotations) return [];
  return annotations
    .filter((annotation: Json) => annotation.type === 'url_citation' && annotation.url_citation)
    .map(({ url_citation }: Json) => ({
      url: url_citation.url,
      title: url_citation.title || undefined,
      citedText: url_citation.content || undefined,
      start: url_citation.start_index ?? undefined,
      end: url_citation.end_index ?? undefined,
    }));
}

/** Sources that some servers list beside the choices, without offsets. */
export function decodeSources(body: Json): Citation[] {
  // Asked of each chunk of a stream.
  if (!body.search_results && !body.citations) return [];
  const results: Json[] = body.search_results ?? [];
  const described = new Map(results.map((result) => [result.url, result]));
  const urls = (body.citations ?? []).map((entry: Json) => entry.url ?? entry);
  return [...new Set([...urls, ...described.keys()])]
    .filter((url) => typeof url === 'string' && url !== '')
    .map((url) => ({
      url,
      title: described.get(url)?.title || undefined,
      citedText: described.get(url)?.snippet || undefined,
    }));
}

/** A cited text: its offset in the whole content, and its length. */
export interface CitedText {
  start: number;
  length: number;
}

/** Citations with a URL are `annotations`; the others cannot be represented and go to `citations`. */
export function encodeCitations(entries: { citation: Citation; text: CitedText }[]): Json {
  const annotations: Json[] = [];
  const citations: Json[] = [];
  for (const { citation, text } of entries) {
    const { start, end } = citedSpan(citation, text.length);
    const start_index = text.start + start;
    const end_index = text.start + end;
    const { url, title = '', citedText, source } = citation;
    if (url === undefined) citations.push({ title, cited_text: citedText, source, start_index, end_index });
    else {
      const url_citation = { start_index, end_index, title, url, ...(citedText && { content: citedText }) };
      annotations.push({ type: 'url_citation', url_citation });
    }
  }
  return { ...(annotations.length > 0 && { annotations }), ...(citations.length > 0 && { citations }) };
}
