/** Details of an answer's parts: citations, log probabilities, images. */

import type { Citation, MediaPart, NativePart, TokenLogprob } from '../../core/chat.ts';
import type { Json } from '../../core/json/json.ts';
import { sniffBase64 } from '../../core/mime.ts';
import { toolUseIn } from './usage.ts';

/** Offsets count from the start of the part's text. A file of the provider has a name, and no address. */
export function decodeCitation(annotation: Json): Citation {
  const { url, title, filename, start_index: start, end_index: end } = annotation;
  const place = { ...(isGiven(start) && { start }), ...(isGiven(end) && { end }) };
  if (isGiven(url)) return { url, ...(title && { title }), ...place };
  return { title: title || filename || undefined, ...place, native: { protocol: 'responses', value: annotation } };
}

export function decodeLogprobs(logprobs: Json): TokenLogprob[] | undefined {
  const tokens: Json[] = logprobs ?? [];
  if (tokens.length === 0) return undefined;
  return tokens.map((token) => {
    const top: Json[] = token.top_logprobs ?? [];
    return { ...decodeToken(token), ...(top.length > 0 && { top: top.map(decodeToken) }) };
  });
}

function decodeToken({ token, logprob, bytes }: Json): TokenLogprob {
  return { token, logprob: logprob ?? 0, ...(isGiven(bytes) && { bytes }) };
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** A generated image, or the item as its own protocol has it: work of the provider. */
export function decodeProviderItem(item: Json): MediaPart | NativePart {
  const { type, result, output_format: format } = item;
  if (type !== 'image_generation_call' || !result) return { type: 'native', protocol: 'responses', value: item };
  const mime = sniffBase64(result) ?? (format && `image/${format}`);
  const toolUse = toolUseIn(item);
  return { type: 'media', kind: 'image', ...(mime && { mime }), data: result, ...(toolUse && { toolUse }) };
}
