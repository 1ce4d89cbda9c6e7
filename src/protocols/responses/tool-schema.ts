/** Schemas of the tools of a Responses request, and their check, as translation requires. */

import type { TSchema } from 'typebox';
import * as Type from 'typebox';
import { GatewayError } from '../../core/errors.ts';
import { problems } from '../../core/json/check.ts';
import type { Json } from '../../core/json/json.ts';
import { MAX_NAME_CHARACTERS } from '../../core/lengths.ts';
import { lookUp } from '../../core/plain-objects.ts';

const OptionalString = Type.Optional(Type.String());
const Open = Type.Object({});
const Name = Type.String({ minLength: 1, maxLength: MAX_NAME_CHARACTERS });

const TOOLS: Record<string, TSchema> = {
  function: Type.Object({
    name: Name,
    description: OptionalString,
    parameters: Type.Optional(Open),
    strict: Type.Optional(Type.Boolean()),
    defer_loading: Type.Optional(Type.Boolean()),
  }),
  custom: Type.Object({
    name: Name,
    description: OptionalString,
    format: Type.Optional(Type.Object({ type: OptionalString, syntax: OptionalString, definition: OptionalString })),
  }),
  namespace: Type.Object({
    name: Name,
    description: OptionalString,
    tools: Type.Array(Type.Object({ type: Type.Enum(['function', 'custom']) })),
  }),
  tool_search: Type.Object({ execution: OptionalString }),
  shell: Type.Object({ environment: Type.Optional(Type.Object({ type: OptionalString })) }),
  web_search: Type.Object({
    search_context_size: OptionalString,
    user_location: Type.Optional(Open),
    filters: Type.Optional(Open),
  }),
};

/** Throws `invalid_request` for the first problem. Types that are not known here are left to translation. */
export function checkTools(tools: Json, path: string): void {
  if (!Array.isArray(tools)) return;
  for (const [index, tool] of tools.entries()) {
    const at = `${path}[${index}]`;
    const type = isWebSearch(tool.type) ? 'web_search' : tool.type;
    const schema = lookUp(TOOLS, type);
    const [problem] = schema ? problems(schema, tool) : [];
    if (problem) fail(`${at}.${problem.path}`, problem.message);
    if (type === 'namespace') checkTools(tool.tools, `${at}.tools`);
  }
}

const MODES = ['none', 'auto', 'required'];
const Choice = Type.Object({ type: Type.String() });
const AllowedTools = Type.Object({
  mode: Type.Enum(['auto', 'required']),
  tools: Type.Array(Type.Object({ type: Type.String() })),
});

export function checkToolChoice(choice: Json): void {
  if (choice === undefined || choice === null || MODES.includes(choice)) return;
  if (typeof choice === 'string') fail('tool_choice', `must be ${MODES.join(', ')} or an object`);
  const [problem] = problems(choice.type === 'allowed_tools' ? AllowedTools : Choice, choice);
  if (problem) fail(`tool_choice.${problem.path}`, problem.message);
}

/** A search of the web has several names, some with a date. */
export function isWebSearch(type: unknown): boolean {
  return typeof type === 'string' && /^web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?$/.test(type);
}

function fail(path: string, message: string): never {
  throw new GatewayError('invalid_request', `${path} ${message}.`, { param: path });
}
