/** Errors of chat completions inside a 200 body or a stream. */

import type { GatewayError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import { decodeErrorIn, encodeError } from '../openai-errors.ts';

export function encodeStreamError(error: GatewayError): string {
  return `data: ${JSON.stringify(encodeError(error).body)}\n\n`;
}

/** The error in a 200 body or a frame, also beside or inside choices. */
export function errorIn(body: Json): GatewayError | undefined {
  if (!isObject(body)) return undefined;
  const error = body.error ?? body.x_groq?.error ?? (body.object === 'error' ? body : undefined) ?? choiceError(body);
  return error === undefined || error === null ? undefined : decodeErrorIn(error, body);
}

function choiceError({ choices }: Json): Json {
  return Array.isArray(choices) ? choices.find((choice) => choice?.error)?.error : undefined;
}
