/** Content parts: text, images, files, audio and video, in both directions. */

import type { CacheMark, MediaPart, Part } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import { sniffBase64 } from '../../core/mime.ts';
import type { ModelRules } from '../../core/model.ts';
import { mediaAt } from '../data-url.ts';

/** Content of a user, tool or assistant message as parts; empty texts are left out. */
export function decodeContent(content: Json, path: string): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  if (!Array.isArray(content)) return [];
  return content
    .map((part, index) => decodePart(part, `${path}[${index}]`))
    .filter((part) => part.type !== 'text' || part.text !== '');
}

/** The breakpoint on a part, a message or a tool, in either spelling. */
export function decodeCache(holder: Json): { cache?: CacheMark } {
  const mark = holder.prompt_cache_breakpoint ?? holder.cache_control;
  if (!isObject(mark)) return {};
  return { cache: { ttl: ['5m', '30m', '1h', '12h'].includes(mark.ttl) ? mark.ttl : undefined } };
}

function decodePart(part: Json, path: string): Part {
  const cache = decodeCache(part);
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text, ...cache };
    case 'refusal':
      return { type: 'refusal', text: part.refusal };
    case 'thinking':
      return { type: 'reasoning', text: thinkingText(part) };
    case 'image_url': {
      const { url, detail } = typeof part.image_url === 'string' ? { url: part.image_url } : part.image_url;
      return { ...mediaAt(url, 'image'), ...(detail && { detail }), ...cache };
    }
    case 'video_url':
      return { ...mediaAt(part.video_url.url, 'video'), ...cache };
    case 'audio_url':
      return { ...mediaAt(part.audio_url.url, 'audio'), ...cache };
    case 'file_url':
      return { ...mediaAt(part.file_url.url, 'document'), ...cache };
    case 'document_url':
      return { ...mediaAt(part.document_url, 'document', part.document_name), ...cache };
    case 'input_audio': {
      if (typeof part.input_audio === 'string') return { ...mediaAt(part.input_audio, 'audio'), ...cache };
      const { data, format } = part.input_audio;
      return { type: 'media', kind: 'audio', mime: audioMime(format), data, ...cache };
    }
    case 'file':
      return { ...decodeFile(part.file), ...cache };
    default:
      throw new GatewayError(
        'unsupported_modality',
        `${path} is of the type ${part.type}, which only its own provider understands.`,
        { param: path },
      );
  }
}

/** The text of a reasoning part inside content. */
export function thinkingText(part: Json): string {
  const { thinking } = part;
  if (typeof thinking === 'string') return thinking;
  const pieces: Json[] = Array.isArray(thinking) ? thinking : [];
  return pieces.map((piece) => (typeof piece?.text === 'string' ? piece.text : '')).join('');
}

function decodeFile(file: Json): MediaPart {
  const title = file.filename ?? undefined;
  if (file.file_id) return { type: 'media', kind: 'document', fileId: file.file_id, ...(title && { title }) };
  return mediaAt(file.file_data, 'document', title);
}

function audioMime(format: string): string {
  return format === 'mp3' ? 'audio/mpeg' : `audio/${format}`;
}

/** A media part for an upstream. Throws `unsupported_modality` for media that this protocol or the model does not support. */
export function encodeMedia(part: MediaPart, rules: ModelRules): Json {
  const needed = part.kind === 'document' ? 'file' : part.kind;
  if (part.text !== undefined) return { type: 'text', text: documentText(part, part.text) };
  if (rules.inputModalities && !rules.inputModalities.includes(needed)) refuse(part, 'this model does not read');
  switch (part.kind) {
    case 'image': {
      const { detail } = part;
      return { type: 'image_url', image_url: { url: urlOf(part), ...(detail && { detail }) } };
    }
    case 'video':
      return { type: 'video_url', video_url: { url: urlOf(part) } };
    case 'audio':
      if (part.data === undefined) refuse(part, 'the provider takes only as data, not by reference,');
      return { type: 'input_audio', input_audio: { data: part.data, format: audioFormat(part.mime) } };
    case 'document':
      if (part.data === undefined) refuse(part, 'the provider takes only as data, not by reference,');
      return { type: 'file', file: { filename: part.title ?? 'document.pdf', file_data: urlOf(part) } };
  }
}

function refuse(part: MediaPart, why: string): never {
  const noun = { image: 'an image', document: 'a document', audio: 'audio', video: 'video' }[part.kind];
  throw new GatewayError('unsupported_modality', `The request holds ${noun}, which ${why.replace(/,$/, '')}.`, {
    param: 'turns',
  });
}

/** A text document with its title and notes. */
export function documentText({ title, context }: MediaPart, text: string): string {
  return [title, context, text].filter(Boolean).join('\n\n');
}

/** The URL of a media part; a data URL for inline data. */
function urlOf(part: MediaPart): string {
  if (part.data !== undefined) {
    const mime = part.mime ?? sniffBase64(part.data) ?? (part.kind === 'image' ? 'image/png' : 'application/pdf');
    return `data:${mime};base64,${part.data}`;
  }
  if (part.url === undefined || !/^https?:/i.test(part.url))
    refuse(part, 'the provider takes only as data or by https URL');
  return part.url;
}

function audioFormat(mime = 'audio/wav'): string {
  const subtype = mime
    .replace(/^audio\/(x-)?/, '')
    .split(';', 1)
    .join();
  return { mpeg: 'mp3', wave: 'wav', mp4: 'm4a', L16: 'pcm16' }[subtype] ?? subtype;
}
