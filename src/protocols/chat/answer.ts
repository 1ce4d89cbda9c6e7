/** Pieces of an answer to a client, the same in a whole body and in a delta. */

import type { CallPart, MediaPart, TokenLogprob } from '../../core/chat.ts';
import type { Json } from '../../core/json/json.ts';
import { encodeCallState } from './reasoning.ts';

/** Clients and logs expect the prefix; ids that begin as some server of this wire writes them are kept. */
export function answerId(id: string): string {
  return /^(chatcmpl|gen-)/.test(id) ? id : `chatcmpl-${id}`;
}

/** The call with its arguments as far as they are known; empty ones are left to the caller. */
export function encodeCall(call: CallPart): Json {
  const { id, name, args } = call;
  const state = encodeCallState(call.opaque);
  if (call.custom) return { id, type: 'custom', custom: { name, input: args }, ...state };
  return { id, type: 'function', function: { name, arguments: args }, ...state };
}

/** What a media part adds to a message: `images` is an extension, `audio` is official. */
export function encodeMedia(part: MediaPart): Json {
  const { data, url, mime } = part;
  switch (part.kind) {
    case 'image':
      return {
        images: [
          {
            type: 'image_url',
            image_url: { url: data === undefined ? (url ?? '') : `data:${mime ?? 'image/png'};base64,${data}` },
          },
        ],
      };
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
