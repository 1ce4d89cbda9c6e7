/** Whole answers of the Responses protocol: the response object at the end of the stream that tells the same. */

import type { ChatResponse, OpenPart } from '../../core/chat.ts';
import { unfold } from '../../core/fold.ts';
import type { Json } from '../../core/json/json.ts';
import type { EncoderOptions } from '../../core/operation.ts';
import { createAnswerWriter } from './encode-stream.ts';

/** The first candidate only; the protocol has no others. */
export function encodeResponse(response: ChatResponse, options: EncoderOptions): Json {
  const answer = createAnswerWriter(options, () => undefined);
  for (const event of unfold(response)) answer.write(event);
  return answer.response();
}

/** Media other than pictures with data, and sources without a URL. */
export function unshown(part: OpenPart): { name: string; url?: string } | undefined {
  if (part.type === 'media' && (part.kind !== 'image' || part.data === undefined))
    return { name: `output.${part.kind}`, ...(part.url && { url: part.url }) };
  if (part.type === 'text' && part.citations?.some(({ url }) => url === undefined))
    return { name: 'output.content.annotations' };
  return undefined;
}
