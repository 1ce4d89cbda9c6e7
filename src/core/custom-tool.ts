/** Arguments of earlier calls, and free-text tools at upstreams that only have functions: a function with one text. */

import type { CallPart, Tool } from './chat.ts';
import { isBlank, isObject, type Json } from './json/json.ts';
import { readText } from './json/scan.ts';

export const CUSTOM_PARAMETERS = { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] };

/** The description, with the grammar of the input, which nothing enforces there. */
export function describedCustomTool({ description, custom }: Tool): string | undefined {
  const { syntax, definition } = custom?.format?.grammar ?? {};
  if (typeof definition !== 'string') return description;
  const grammar = `The input must follow this grammar${typeof syntax === 'string' ? ` (${syntax})` : ''}:\n${definition}`;
  return description ? `${description}\n\n${grammar}` : grammar;
}

/** The input of a call as arguments of the function. */
export function customArguments({ args }: CallPart): Json {
  return { input: args };
}

/** Arguments of a call; undefined if they are not an object, or one that takes too long to read. Empty text is the empty object. */
export function readArguments(text: string): Record<string, Json> | undefined {
  if (isBlank(text)) return {};
  const value = readText(text);
  return isObject(value) ? value : undefined;
}

/** JSON text of the arguments of an earlier call. Upstreams refuse others than an object: these become empty, and are named in `dropped`. */
export function writtenArguments(call: CallPart, dropped: Set<string>): string {
  if (call.custom) return JSON.stringify(customArguments(call));
  if (isBlank(call.args)) return '{}';
  if (readArguments(call.args) !== undefined) return call.args;
  dropped.add('turns.parts.arguments');
  return '{}';
}
