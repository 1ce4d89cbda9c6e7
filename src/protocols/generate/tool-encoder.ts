/** Tools and tool choice for an upstream. */

import type { ChatRequest, Tool, ToolChoice } from '../../core/chat.ts';
import type { Json } from '../../core/json.ts';
import { toDialect } from '../../core/json-schema.ts';
import { DIALECT } from './schema.ts';

export function encodeTools({ tools, webSearch }: ChatRequest): Json[] {
  const result: Json[] = [];
  if (tools.length > 0) result.push({ functionDeclarations: tools.map(encodeTool) });
  if (webSearch) result.push({ googleSearch: {} });
  return result;
}

function encodeTool(tool: Tool): Json {
  const { name, description } = tool;
  const parametersJsonSchema = parametersOf(tool);
  return { name, ...(description && { description }), ...(parametersJsonSchema && { parametersJsonSchema }) };
}

/** A free-text tool takes its text as one field; a tool without arguments has no schema at all. */
function parametersOf({ custom, parameters }: Tool): Json | undefined {
  if (custom) return { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] };
  if (parameters === undefined) return undefined;
  const { schema } = toDialect(parameters, DIALECT);
  const empty = schema.type === 'object' && Object.keys(schema.properties ?? {}).length === 0;
  return empty && !schema.additionalProperties && !schema.anyOf && !schema.$ref ? undefined : schema;
}

export function encodeToolChoice(choice: ToolChoice): Json {
  return { functionCallingConfig: callingConfig(choice) };
}

function callingConfig(choice: ToolChoice): Json {
  switch (choice.type) {
    case 'none':
      return { mode: 'NONE' };
    case 'auto':
      return { mode: 'AUTO' };
    case 'required':
      return { mode: 'ANY' };
    case 'named':
      return { mode: 'ANY', allowedFunctionNames: [choice.name] };
    case 'allowed':
      return { mode: choice.required ? 'ANY' : 'VALIDATED', allowedFunctionNames: choice.names };
  }
}
