/** Free-text tools at upstreams that only have functions: a function with one text. */

import type { CallPart, Tool } from './chat.ts';
import type { Json } from './json/json.ts';

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
