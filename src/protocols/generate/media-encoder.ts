/** Media as parts of a request. */

import type { MediaPart } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { mimeOfName, registeredType, sniffBase64 } from '../../core/mime.ts';
import type { ModelRules } from '../../core/model.ts';

/** Media type, which is required: the client's, else that of the URL, else the default of the kind. */
const USUAL: Record<MediaPart['kind'], string> = {
  image: 'image/jpeg',
  document: 'application/pdf',
  audio: 'audio/wav',
  video: 'video/mp4',
};

export function encodeMedia(part: MediaPart, rules: ModelRules): Json {
  if (part.text !== undefined) return { text: [part.title, part.context, part.text].filter(Boolean).join('\n\n') };
  const modality = part.kind === 'document' ? 'file' : part.kind;
  if (rules.inputModalities && !rules.inputModalities.includes(modality)) {
    throw new GatewayError('unsupported_modality', `This model does not read ${modality} input.`, { param: 'turns' });
  }
  if (part.data !== undefined) return { inlineData: { mimeType: mimeOfData(part), data: part.data } };
  if (part.url !== undefined) return { fileData: encodeUrl(part, part.url) };
  const message = 'A file id is known only to the provider that gave it; send the file itself or its https URL.';
  throw new GatewayError('unsupported_parameter', message, { param: 'turns' });
}

/** Media type as given, else by the first bytes, else the usual one of the kind. */
export function mimeOfData({ mime, kind, data }: MediaPart): string {
  return registeredType(mime) ?? sniffBase64(data ?? '') ?? USUAL[kind];
}

function encodeUrl({ mime, kind }: MediaPart, url: string): Json {
  if (!url.startsWith('https://')) {
    throw new GatewayError('invalid_request', 'Media for this model must be base64 data or an https URL.', {
      param: 'turns',
    });
  }
  return { fileUri: url, mimeType: registeredType(mime) ?? mimeOfName(url) ?? USUAL[kind] };
}
