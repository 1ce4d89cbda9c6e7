/** Block decoder: content blocks of the messages protocol to parts of the hub. */

import type { Citation, MediaPart, NativePart, Opaque, OpenPart, Part, TextPart } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { isObject, type Json, textOf } from '../../core/json/json.ts';
import type { WebSearch } from '../../core/native.ts';
import { unwrap } from '../../core/opaque.ts';
import { decodeMark } from './cache.ts';
import { decodeCitation } from './citations.ts';

/**
 * Parts of a block of a client's request. State without an envelope has no origin; enveloped state keeps its own.
 */
export function decodeBlock(block: Json): Part[] {
  const cache = decodeMark(block.cache_control);
  const mark = cache && { cache };
  switch (block.type) {
    case 'image':
      return [{ type: 'media', kind: 'image', ...decodeSource(block.source), ...mark }];
    case 'document':
      return decodeDocument(block).map((part, index, { length }) =>
        index === length - 1 ? { ...part, ...mark } : part,
      );
    case 'search_result': {
      const texts = block.content.map((inner: Json) => inner.text);
      return [{ type: 'text', text: [`${block.title} (${block.source})`, ...texts].join('\n'), ...mark }];
    }
    case 'compaction':
      return typeof block.content === 'string' ? [{ type: 'text', text: block.content, ...mark }] : [];
    case 'container_upload':
      throw new GatewayError(
        'unsupported_parameter',
        "container_upload blocks only work with the model's own provider.",
        {
          param: 'messages',
        },
      );
    case 'tool_result': {
      const parts = decodeContent(block.content);
      const isError = block.is_error === true && { isError: true };
      return [{ type: 'result', callId: block.tool_use_id, parts, ...isError, ...mark }];
    }
    default:
      return [{ ...decodeAnswerBlock(block, undefined), ...mark } as Part];
  }
}

/** A string or list of blocks; empty texts are nothing. */
export function decodeContent(content: Json): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return Array.isArray(content) ? content.flatMap(decodeBlock) : [];
}

/** A block of an answer; `origin` owns the state in it. Unknown types are kept for this protocol. */
export function decodeAnswerBlock(block: Json, origin: string | undefined): OpenPart {
  switch (block.type) {
    case 'text': {
      const citations = decodeCitations(block.citations);
      return { type: 'text', text: block.text ?? '', ...(citations.length > 0 && { citations }) } satisfies TextPart;
    }
    case 'thinking': {
      const opaque = decodeState('signature', block.signature, origin);
      return { type: 'reasoning', text: block.thinking ?? '', ...(opaque && { opaque }) };
    }
    case 'redacted_thinking': {
      const opaque = decodeState('redacted', block.data, origin);
      return { type: 'reasoning', text: '', ...(opaque && { opaque }) };
    }
    case 'tool_use':
      return { type: 'call', id: block.id, name: block.name, args: JSON.stringify(block.input ?? {}) };
    default:
      return decodeNative(block);
  }
}

/** A complete block that only this protocol has. */
export function decodeNative(block: Json): NativePart {
  const search = searchIn(block);
  return { type: 'native', protocol: 'messages', value: block, ...(search && { search }) };
}

/** The beginning or the end of a search of the web. */
function searchIn({ type, name, id, tool_use_id, input, content }: Json): WebSearch | undefined {
  if (type === 'server_tool_use' && name === 'web_search')
    return { id: textOf(id) ?? '', queries: typeof input?.query === 'string' ? [input.query] : [] };
  if (type !== 'web_search_tool_result') return undefined;
  if (!Array.isArray(content)) return { id: textOf(tool_use_id) ?? '', sources: [], failed: true };
  return {
    id: textOf(tool_use_id) ?? '',
    sources: content.map((page) => page?.url).filter((url) => typeof url === 'string'),
  };
}

/** State of a client; of an upstream, if `origin` is given, whose envelopes are its own: it may be a gateway too. */
export function decodeState(kind: Opaque['kind'], value: Json, origin: string | undefined): Opaque | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  if (origin !== undefined) return { kind, value, origin };
  return unwrap(value) ?? { kind, value };
}

function decodeCitations(citations: Json): Citation[] {
  if (!Array.isArray(citations)) return [];
  return citations.map(decodeCitation).filter((citation) => citation !== undefined);
}

function decodeSource(source: Json): Pick<MediaPart, 'mime' | 'data' | 'url' | 'fileId'> {
  switch (source.type) {
    case 'base64':
      return { mime: source.media_type, data: source.data };
    case 'url':
      return { url: source.url };
    default:
      return { fileId: source.file_id };
  }
}

function decodeDocument(block: Json): (TextPart | MediaPart)[] {
  const about: Partial<MediaPart> = {};
  if (block.title) about.title = block.title;
  if (block.context) about.context = block.context;
  if (isObject(block.citations) && block.citations.enabled === true) about.cite = true;
  const document = { type: 'media', kind: 'document', ...about } as const;
  const { source } = block;
  if (source.type === 'text') return [{ ...document, mime: source.media_type ?? 'text/plain', text: source.data }];
  if (source.type !== 'content') return [{ ...document, ...decodeSource(source) }];
  const parts = decodeContent(source.content) as (TextPart | MediaPart)[];
  if (!parts.every((part) => part.type === 'text')) return withDetails(parts, about);
  return [{ ...document, mime: 'text/plain', text: parts.map((part) => part.text).join('\n') }];
}

/** Parts of a document with images, after its title and context. */
function withDetails(
  parts: (TextPart | MediaPart)[],
  { title, context, cite }: Partial<MediaPart>,
): (TextPart | MediaPart)[] {
  const text = [title, context].filter(Boolean).join('\n\n');
  const cited = cite ? parts.map((part) => (part.type === 'media' ? { ...part, cite } : part)) : parts;
  return text === '' ? cited : [{ type: 'text', text }, ...cited];
}
