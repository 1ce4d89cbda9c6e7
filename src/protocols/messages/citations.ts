/** Citations on text blocks of the messages protocol. */

import type { Citation } from '../../core/chat.ts';
import { isObject, type Json } from '../../core/json/json.ts';

/** A citation applies to the whole block that contains it, so it has no offsets. */
export function decodeCitation(wire: Json): Citation | undefined {
  if (!isObject(wire)) return undefined;
  const citation: Citation = {};
  const url = wire.type === 'search_result_location' ? wire.source : wire.url;
  const title = wire.title ?? wire.document_title;
  const source = wire.search_result_index ?? wire.document_index;
  if (typeof url === 'string' && url !== '') citation.url = url;
  if (typeof title === 'string') citation.title = title;
  if (typeof wire.cited_text === 'string') citation.citedText = wire.cited_text;
  if (typeof source === 'number') citation.source = source;
  citation.native = { protocol: 'messages', value: wire };
  return citation;
}

/** Undefined for a citation without a source. */
export function encodeCitation(citation: Citation): Json {
  const { url, title = null, citedText = '', source, native } = citation;
  if (native?.protocol === 'messages') return native.value;
  if (url !== undefined) {
    return { type: 'web_search_result_location', cited_text: citedText, encrypted_index: '', title, url };
  }
  if (source === undefined) return citedText === '' ? undefined : encodeQuote(citedText, title);
  return {
    type: 'char_location',
    cited_text: citedText,
    document_index: source,
    document_title: title,
    start_char_index: 0,
    end_char_index: citedText.length,
  };
}

/** Citation of a source without a URL, such as a provider's own store: a search result without a location. */
function encodeQuote(citedText: string, title: string | null): Json {
  const place = { search_result_index: 0, start_block_index: 0, end_block_index: 1 };
  return { type: 'search_result_location', cited_text: citedText, source: title ?? '', title, ...place };
}
