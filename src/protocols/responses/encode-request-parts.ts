/** Content parts of a request for an upstream: texts, images, files and audio. */

import type { CacheMark, MediaPart, Part } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { sniffBase64 } from '../../core/mime.ts';
import type { Modality } from '../../core/model.ts';
import type { Target } from '../../core/operation.ts';

/** InputEncoding context: the target, and the names of the members dropped so far. */
export interface InputEncoding {
  target: Target;
  dropped: Set<string>;
  /** The system text stays where it is, among the input items. */
  inPlace?: boolean;
}

/** Parts of a message of the user or in the output of a call. */
export function encodeContent(part: Part, encoding: InputEncoding): Json[] {
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : [{ type: 'input_text', text: part.text, ...marked(part.cache, encoding) }];
    case 'refusal':
      return [{ type: 'input_text', text: part.text }];
    case 'media':
      return [{ ...encodeMedia(part, encoding), ...marked(part.cache, encoding) }];
    case 'reasoning':
    case 'call':
    case 'result':
    case 'native':
      return [];
  }
}

/** A breakpoint of the prompt cache. */
export function marked(cache: CacheMark | undefined, { target, dropped }: InputEncoding): Json {
  if (!cache) return {};
  if (target.rules.cacheMarks === 'prompt_cache_breakpoint')
    return { prompt_cache_breakpoint: { mode: 'explicit', ttl: cache.ttl === '12h' ? '12h' : '30m' } };
  dropped.add('cache');
  return {};
}

const MODALITIES: Record<MediaPart['kind'], Modality> = {
  image: 'image',
  document: 'file',
  audio: 'audio',
  video: 'video',
};

/** Throws `unsupported_modality` for media that this protocol or the model does not read. */
function encodeMedia(part: MediaPart, { target: { rules }, dropped }: InputEncoding): Json {
  const { kind, text, title, detail } = part;
  if (text !== undefined) return { type: 'input_text', text: [title, part.context, text].filter(Boolean).join('\n\n') };
  if (rules.inputModalities && !rules.inputModalities.includes(MODALITIES[kind]))
    refuse(part, 'this model does not read');
  switch (kind) {
    case 'image':
      return { type: 'input_image', image_url: urlOf(part), ...(detail && { detail }) };
    case 'document':
      if (part.data === undefined) {
        // A name beside an address is refused.
        if (title !== undefined) dropped.add('turns.parts.title');
        return { type: 'input_file', file_url: urlOf(part) };
      }
      return { type: 'input_file', filename: title ?? 'document.pdf', file_data: urlOf(part) };
    case 'audio':
      if (part.data === undefined) refuse(part, 'the provider takes only as data, not by reference');
      return { type: 'input_audio', input_audio: { data: part.data, format: audioFormat(part.mime) } };
    case 'video':
      return refuse(part, 'the provider does not take');
  }
}

/** The URL of a media part; a data URL for inline data. */
function urlOf(part: MediaPart): string {
  const { data, url } = part;
  if (data !== undefined) {
    const mime = part.mime ?? sniffBase64(data) ?? (part.kind === 'image' ? 'image/png' : 'application/pdf');
    return `data:${mime};base64,${data}`;
  }
  if (url === undefined || !/^https?:/i.test(url)) refuse(part, 'the provider takes only as data or by https URL');
  return url;
}

function refuse({ kind }: MediaPart, why: string): never {
  const noun = { image: 'an image', document: 'a document', audio: 'audio', video: 'video' }[kind];
  throw new GatewayError('unsupported_modality', `The request holds ${noun}, which ${why}.`, { param: 'turns' });
}

function audioFormat(mime = 'audio/wav'): string {
  if (/mpeg|mp3/.test(mime)) return 'mp3';
  const [type = ''] = mime.split(';', 1);
  return type.replace(/^audio\/(x-)?/, '').replace(/^wave$/, 'wav');
}
