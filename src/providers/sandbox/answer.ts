/** What a model of the sandbox says: a list of pieces, one a token, so that a stream and a whole answer cannot differ. */

import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import type { SandboxRequest } from './request.ts';
import { sampleSchema } from './schema-sample.ts';
import { tokens } from './tokens.ts';

export type Piece =
  | { type: 'reasoning'; text: string }
  | { type: 'text'; text: string }
  | { type: 'call'; call: number; name: string; custom: boolean }
  | { type: 'arguments'; call: number; text: string; custom: boolean };

export interface Answer {
  pieces: Piece[];
  finish: 'stop' | 'length' | 'tool_calls';
}

/** A call of a tool; `input` is JSON, or plain text for a custom tool. */
export interface Call {
  name: string;
  input: string;
  custom: boolean;
}

/** The text, or JSON with the text in it where a response format asks for that, up to the first stop sequence. */
export function textAnswer(text: string, request: SandboxRequest): Answer {
  const whole = request.format ? jsonText(text, request.format.schema) : text;
  const ends = request.stops.map((stop) => whole.indexOf(stop)).filter((end) => end >= 0);
  const spoken = whole.slice(0, Math.min(whole.length, ...ends));
  return { pieces: tokens(spoken).map((token) => ({ type: 'text', text: token })), finish: 'stop' };
}

function jsonText(text: string, schema: Json): string {
  const value = sampleSchema(schema, text);
  if (value === undefined) {
    throw new GatewayError('invalid_request', 'The sandbox finds no value that fits the schema.', {
      param: 'response_format.json_schema.schema',
    });
  }
  return JSON.stringify(value);
}

export function callAnswer(calls: Call[]): Answer {
  const pieces = calls.flatMap(({ name, input, custom }, call): Piece[] => [
    { type: 'call', call, name, custom },
    ...tokens(input).map((text): Piece => ({ type: 'arguments', call, text, custom })),
  ]);
  return { pieces, finish: 'tool_calls' };
}

/** The answer broken off after `limit` tokens, if it is longer. */
export function limited(answer: Answer, limit: number): Answer {
  return answer.pieces.length > limit ? { pieces: answer.pieces.slice(0, limit), finish: 'length' } : answer;
}
