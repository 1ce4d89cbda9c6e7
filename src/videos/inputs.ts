/** Media inputs of a request: images, videos and audio as URLs or data URIs. */

import { GatewayError } from '../core/errors.ts';
import { MAX_MEDIA_TYPE_CHARACTERS } from '../core/lengths.ts';
import { registeredType, sniffBase64 } from '../core/mime.ts';
import type { ReferenceType, VideoInput } from '../core/video.ts';
import type { AddressPolicy } from '../net/address-policy.ts';
import { checkUrl } from '../net/check-url.ts';
import { refuse } from './refusal.ts';

const MEBIBYTE = 1024 * 1024;
/** Head of a data URI: its media type and the characters around it. */
const MAX_HEAD_CHARACTERS = MAX_MEDIA_TYPE_CHARACTERS + 'data:;base64,'.length;
const MAX_INPUT_BYTES = 20 * MEBIBYTE;

export interface InputField {
  /** Name of the field in the request. */
  param: string;
  type: ReferenceType;
  policy: AddressPolicy;
}

/** Throws `invalid_request`, or `payload_too_large` for more than 20 MiB. */
export function readInput(text: string, place: InputField): VideoInput {
  if (/^data:/i.test(text)) return readDataUri(text, place);
  try {
    return { url: checkUrl(text, place.policy).href };
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    throw new GatewayError(
      'invalid_request',
      `${place.param} must be an https URL or a base64 data URI: ${thrown.message}`,
      {
        param: place.param,
        cause: thrown,
      },
    );
  }
}

function readDataUri(text: string, { param, type }: InputField): VideoInput {
  const comma = text.slice(0, MAX_HEAD_CHARACTERS).indexOf(',');
  const [claimed = '', ...flags] = text.slice('data:'.length, Math.max(comma, 0)).toLowerCase().split(';');
  const data = text.slice(comma + 1);
  if (comma < 0 || flags.at(-1)?.trim() !== 'base64' || !isBase64(data)) {
    refuse(param, `must be a data URI with base64, such as data:${type}/...;base64,...`);
  }
  if (decodedLength(data) > MAX_INPUT_BYTES) {
    throw new GatewayError('payload_too_large', `${param} holds more than ${MAX_INPUT_BYTES} bytes.`, { param });
  }
  const named = claimed === 'application/octet-stream' ? '' : claimed;
  const mime = registeredType(named === '' ? sniffBase64(data) : named);
  if (!mime?.startsWith(`${type}/`))
    refuse(param, `must hold ${type === 'image' ? 'an' : 'a'} ${type}, not ${mime ?? 'bytes of an unknown type'}.`);
  return { data, mime };
}

function isBase64(data: string): boolean {
  return data.length > 0 && data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data);
}

function decodedLength(data: string): number {
  return (data.length / 4) * 3 - (data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0);
}
