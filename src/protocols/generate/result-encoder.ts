/** Tool results: an object with the tool's text, and its media. */

import type { MediaPart, Part, ResultPart } from '../../core/chat.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import { readText, type TextBudget } from '../../core/json/scan.ts';
import type { Target } from '../../core/operation.ts';
import { encodeMedia } from './media-encoder.ts';

interface ResultEncoding extends Target {
  /** Values that results may have which are sent as objects. */
  results: TextBudget;
}

/** The function response, and the media that follow all responses for a model that accepts none inside a response. */
export function encodeResult(
  result: ResultPart,
  name: string,
  target: ResultEncoding,
): { response: Json; siblings: Json[] } {
  const media = result.parts.filter((part) => part.type === 'media' && part.text === undefined) as MediaPart[];
  const encoded = media.map((part) => encodeMedia(part, target.rules));
  const inside = target.rules.resultMedia !== false && encoded.length > 0;
  const response = {
    id: result.callId,
    name,
    response: responseOf(result, media.length > 0, target.results),
    ...(inside && { parts: encoded }),
  };
  return { response: { functionResponse: response }, siblings: inside ? [] : encoded };
}

function responseOf({ parts, isError }: ResultPart, hasMedia: boolean, budget: TextBudget): Json {
  const text = parts.map(textOf).filter(Boolean).join('\n');
  if (isError) return { error: text };
  if (text === '' && hasMedia) return {};
  const value = /^\s*[[{]/.test(text) ? readText(text, budget) : undefined;
  if (isObject(value) && !holdsReference(value)) return value;
  return { output: Array.isArray(value) && !holdsReference(value) ? value : text };
}

function textOf(part: Part): string {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return part.text;
    case 'media':
      return part.text === undefined ? '' : [part.title, part.context, part.text].filter(Boolean).join('\n\n');
    default:
      return '';
  }
}

/** `$ref` points at media inside a response; a tool's own one must not be taken for that. */
function holdsReference(value: Json): boolean {
  if (Array.isArray(value)) return value.some(holdsReference);
  return isObject(value) && ('$ref' in value || Object.values(value).some(holdsReference));
}
