/** Text of a message, with labels such as `[image image/png, 68 bytes]` for media and calls. */

import type { Json } from '../../core/json/json.ts';

/** One line per part; tool calls follow the text. */
export function textOf(message: { content?: Json; tool_calls?: Json[] }): string {
  const parts = Array.isArray(message.content) ? message.content.map(partText) : [String(message.content ?? '')];
  const calls = (message.tool_calls ?? []).map(callText);
  return [...(calls.length > 0 ? parts.filter((part) => part !== '') : parts), ...calls].join('\n');
}

function partText(part: Json): string {
  switch (part?.type) {
    case 'text':
      return String(part.text ?? '');
    case 'refusal':
      return String(part.refusal ?? '');
    case 'image_url':
      return label('image', addressText(part.image_url?.url));
    case 'video_url':
      return label('video', addressText(part.video_url?.url));
    case 'input_audio':
      return label('audio', dataText(`audio/${part.input_audio?.format}`, String(part.input_audio?.data ?? '')));
    case 'file':
      return label('document', [part.file?.filename, fileText(part.file)].filter(Boolean).join(' '));
    default:
      return label('part', String(part?.type));
  }
}

function callText(call: Json): string {
  const { name, input } = call?.custom ?? { name: call?.function?.name, input: call?.function?.arguments };
  return label('call', `${name} ${input ?? ''}`.trim());
}

function fileText(file: Json): string {
  return file?.file_data === undefined ? String(file?.file_id ?? '') : addressText(file.file_data);
}

const MAX_DATA_URL_HEADER_CHARACTERS = 260;

/** Type and size of a data URL; any other URL unchanged. */
function addressText(url: unknown): string {
  const text = String(url ?? '');
  const comma = text.indexOf(',');
  if (!/^data:/i.test(text) || comma < 0) return text;
  const [mime, ...marks] = text.slice('data:'.length, Math.min(comma, MAX_DATA_URL_HEADER_CHARACTERS)).split(';');
  const data = text.slice(comma + 1);
  if (marks.includes('base64')) return dataText(mime || 'text/plain', data);
  return `${mime || 'text/plain'}, ${sizeText(Buffer.byteLength(data) - 2 * countEscapes(data))}`;
}

/** Number of percent-encoded bytes. */
function countEscapes(text: string): number {
  let count = 0;
  for (let at = text.indexOf('%'); at >= 0; at = text.indexOf('%', at + 1)) {
    if (/^[0-9a-f]{2}$/i.test(text.slice(at + 1, at + 3))) count++;
  }
  return count;
}

function dataText(mime: string, base64: string): string {
  return `${mime}, ${sizeText(Buffer.byteLength(base64, 'base64'))}`;
}

function sizeText(bytes: number): string {
  return bytes === 1 ? '1 byte' : `${bytes} bytes`;
}

function label(kind: string, text: string): string {
  return `[${[kind, text].filter(Boolean).join(' ')}]`;
}
