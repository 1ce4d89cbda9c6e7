/** Sandbox answers: a list of pieces, one per token, shared by streamed and whole responses. */

import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import type { SandboxRequest } from './request.ts';
import { sampleSchema } from './schema-sample.ts';
import { tokens } from './tokens.ts';

const SCHEMA_PARAM = 'response_format.json_schema.schema';
const MAX_TEXT_CHARACTERS = 64 * 1024;

export type Piece =
  | { type: 'reasoning'; text: string }
  | { type: 'text'; text: string }
  | { type: 'call'; call: number; name: string; custom: boolean }
  | { type: 'arguments'; call: number; text: string; custom: boolean };

export interface SandboxAnswer {
  pieces: Piece[];
  finish: 'stop' | 'length' | 'tool_calls';
}

/** A call of a tool; `input` is JSON, or plain text for a custom tool. */
export interface SandboxToolCall {
  name: string;
  input: string;
  custom: boolean;
}

/** The text, or JSON with the text if the request has a response format, up to the first stop sequence. */
export function textAnswer(text: string, request: SandboxRequest): SandboxAnswer {
  const whole = request.format ? jsonText(text, request.format.schema) : text;
  const ends = request.stops.map((stop) => whole.indexOf(stop)).filter((end) => end >= 0);
  const spoken = whole.slice(0, Math.min(whole.length, ...ends));
  const pieces = tokens(spoken, request.limit + 1).map((token): Piece => ({ type: 'text', text: token }));
  return { pieces, finish: 'stop' };
}

function jsonText(text: string, schema: Json): string {
  const field = { param: SCHEMA_PARAM, name: 'The JSON schema of the answer' };
  // A longer text would be truncated anyway.
  const value = sampleSchema(schema, text.slice(0, MAX_TEXT_CHARACTERS), { field });
  if (value === undefined) {
    throw new GatewayError('invalid_request', 'The sandbox finds no value that fits the schema.', {
      param: SCHEMA_PARAM,
    });
  }
  return JSON.stringify(value);
}

export function callAnswer(calls: SandboxToolCall[], { limit }: SandboxRequest): SandboxAnswer {
  const pieces: Piece[] = [];
  for (const [call, { name, input, custom }] of calls.entries()) {
    if (pieces.length > limit) break;
    pieces.push({ type: 'call', call, name, custom });
    for (const text of tokens(input, limit + 1)) pieces.push({ type: 'arguments', call, text, custom });
  }
  return { pieces, finish: 'tool_calls' };
}

/** Truncates the answer after `limit` tokens. */
export function truncate(answer: SandboxAnswer, limit: number): SandboxAnswer {
  return answer.pieces.length > limit ? { pieces: answer.pieces.slice(0, limit), finish: 'length' } : answer;
}
