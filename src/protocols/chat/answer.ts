/** Parts of an answer that have the same form in a whole body and in a delta. */

import type { CallPart, MediaPart, TokenLogprob } from '../../core/chat.ts';
import type { Json } from '../../core/json/json.ts';
import { encodeCallState } from './reasoning.ts';

/** Answer id with the prefix that clients expect; known prefixes of other servers are kept. */
export function answerId(id: string): string {
  return /^(chatcmpl|gen-)/.test(id) ? id : `chatcmpl-${id}`;
}

/** The call with the arguments received so far; the caller replaces empty arguments. */
export function encodeCall(call: CallPart): Json {
  const { id, name, args } = call;
  const state = encodeCallState(call.opaque);
  if (call.custom) return { id, type: 'custom', custom: { name, input: args }, ...state };
  return { id, type: 'function', function: { name, arguments: args }, ...state };
}

/** Message members for a media part: `images` is an extension, `audio` is official. */
export function encodeMedia(part: MediaPart): Json {
  const { data, url, mime } = part;
  switch (part.kind) {
    case 'image': {
      const address = data === undefined ? url : `data:${mime ?? 'image/png'};base64,${data}`;
      return address === undefined ? {} : { images: [{ type: 'image_url', image_url: { url: address } }] };
    }
    case 'audio':
      return { audio: { id: part.fileId ?? '', data: data ?? '', transcript: part.transcript ?? '' } };
    case 'document':
    case 'video':
      return {};
  }
}

export function encodeLogprobs(tokens: TokenLogprob[]): Json {
  return {
    content: tokens.map((token) => ({ ...encodeToken(token), top_logprobs: (token.top ?? []).map(encodeToken) })),
    refusal: null,
  };
}

function encodeToken({ token, logprob, bytes }: TokenLogprob): Json {
  return { token, logprob, bytes: bytes ?? [...Buffer.from(token)] };
}
