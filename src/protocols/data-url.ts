/** Data URLs of OpenAI's protocols, and the media that they hold. */

import type { MediaPart } from '../core/chat.ts';
import { MAX_MEDIA_TYPE_CHARACTERS } from '../core/lengths.ts';
import { isTextType, mimeOfName, sniffBase64 } from '../core/mime.ts';

export const DATA_URL = 'data:';
const MAX_HEAD_CHARACTERS = DATA_URL.length + MAX_MEDIA_TYPE_CHARACTERS + ';base64,'.length;
/** Maximum characters of percent-encoded data; decoding more would block the event loop. */
const MAX_ENCODED_CHARACTERS = 1024 * 1024;

/** The head of a data URL before its data; undefined if invalid. */
function dataUrlHead(url: string): string | undefined {
  const comma = url.slice(0, MAX_HEAD_CHARACTERS).indexOf(',');
  return comma < 0 ? undefined : url.slice(DATA_URL.length, comma);
}

/** Whether a text that begins as a data URL is valid. */
export function isDataUrl(url: string): boolean {
  const head = dataUrlHead(url);
  if (head === undefined) return false;
  return head.endsWith(';base64') || isPercentEncoded(url.slice(DATA_URL.length + head.length + 1));
}

/** The reason a data URL is refused. */
export function problemOfDataUrl(url: string): string {
  const head = dataUrlHead(url);
  if (head === undefined && url.includes(','))
    return `has a data URL with more than ${MAX_MEDIA_TYPE_CHARACTERS} characters of media type`;
  if (head !== undefined && url.length - head.length > MAX_ENCODED_CHARACTERS)
    return `has a data URL with more than ${MAX_ENCODED_CHARACTERS} characters that are not base64; write data:<media type>;base64,<data>`;
  return 'has a data URL that is none; write data:<media type>;base64,<data>';
}

/** Whether `decodeURIComponent` accepts a text. */
function isPercentEncoded(text: string): boolean {
  if (text.length > MAX_ENCODED_CHARACTERS) return false;
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** Media part of a URL or data URL. Its kind is `expected` unless the media type differs. */
export function mediaAt(url: string, expected: MediaPart['kind'], title?: string): MediaPart {
  const named = title === undefined ? {} : { title };
  if (!url.startsWith(DATA_URL)) {
    if (/^[a-z][a-z0-9+.-]*:/i.test(url)) {
      const mime = mimeOfName(url) ?? (title && mimeOfName(title));
      return { type: 'media', kind: expected, url, ...(mime && { mime }), ...named };
    }
    return ofMime(sniffBase64(url) ?? (title && mimeOfName(title)), expected, url, named);
  }
  const head = dataUrlHead(url) ?? '';
  const [declared = '', ...attributes] = head.split(';');
  const tail = url.slice(DATA_URL.length + head.length + 1);
  const data = attributes.includes('base64') ? tail : Buffer.from(decodeURIComponent(tail)).toString('base64');
  const mime = declared.toLowerCase() === 'application/octet-stream' ? '' : declared.toLowerCase();
  return ofMime(mime || sniffBase64(data) || (title && mimeOfName(title)), expected, data, named);
}

function ofMime(mime: string | undefined, expected: MediaPart['kind'], data: string, named: object): MediaPart {
  const kind = mime ? kindOf(mime) : expected;
  if (kind === 'document' && mime && isTextType(mime)) {
    return { type: 'media', kind, mime, text: Buffer.from(data, 'base64').toString('utf8'), ...named };
  }
  return { type: 'media', kind, ...(mime && { mime }), data, ...named };
}

function kindOf(mime: string): MediaPart['kind'] {
  const family = mime.split('/')[0];
  return family === 'image' || family === 'audio' || family === 'video' ? family : 'document';
}
