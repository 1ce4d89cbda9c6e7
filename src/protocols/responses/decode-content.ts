/** Content of messages and tool outputs of a Responses client. */

import type { CacheMark, MediaPart, Part } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import { mediaAt } from '../data-url.ts';

/** A text or a list of parts; empty texts are left out. */
export function decodeContent(content: Json, path: string): Part[] {
  const parts: Json[] = typeof content === 'string' ? [{ type: 'input_text', text: content }] : (content ?? []);
  return parts
    .map((part, index) => ({ ...decodePart(part, `${path}[${index}]`), ...decodeCache(part) }))
    .filter((part) => part.type !== 'text' || part.text !== '');
}

function decodePart(part: Json, path: string): Part {
  switch (part.type) {
    case 'refusal':
      return { type: 'refusal', text: part.refusal };
    case 'input_image': {
      if (!part.image_url) throw unknownFile(`${path}.file_id`);
      const { detail } = part;
      return { ...mediaAt(part.image_url, 'image'), ...(detail && { detail }) };
    }
    case 'input_file':
      return decodeFile(part, path);
    case 'input_audio': {
      const { data, format } = part.input_audio;
      return { type: 'media', kind: 'audio', mime: format === 'mp3' ? 'audio/mpeg' : `audio/${format}`, data };
    }
    default:
      return { type: 'text', text: part.text };
  }
}

function decodeFile({ file_data, file_url, filename }: Json, path: string): MediaPart {
  const address = file_data ?? file_url;
  if (!address) throw unknownFile(`${path}.file_id`);
  return mediaAt(address, 'document', filename || undefined);
}

/** A file id only means something at the provider that keeps the file. */
export function unknownFile(param: string): GatewayError {
  return new GatewayError(
    'unsupported_parameter',
    `${param} names a file that only its own provider can read; send its content or its URL.`,
    { param },
  );
}

/** The prompt-cache breakpoint of a part. */
function decodeCache({ prompt_cache_breakpoint: mark }: Json): { cache?: CacheMark } {
  if (!isObject(mark)) return {};
  return { cache: { ttl: ['5m', '30m', '1h', '12h'].includes(mark.ttl) ? mark.ttl : undefined } };
}
