/** Tools and tool choice for an upstream. */

import type { ChatRequest, Tool, ToolChoice } from '../../core/chat.ts';
import { CUSTOM_PARAMETERS, describedCustomTool } from '../../core/custom-tool.ts';
import type { Json } from '../../core/json/json.ts';
import { toDialect, withItems } from '../../core/json/schema.ts';
import { type SchemaBudget, toolSchemaField } from '../../core/json/schema-budget.ts';
import { DIALECT } from './schema.ts';

interface Encoding {
  /** Names of dropped fields. */
  dropped: Set<string>;
  schemas: SchemaBudget;
}

export function encodeTools(
  { tools, webSearch }: Pick<ChatRequest, 'tools' | 'webSearch'>,
  encoding: Encoding,
): Json[] {
  const result: Json[] = [];
  if (tools.length > 0) result.push({ functionDeclarations: tools.map((tool) => encodeTool(tool, encoding)) });
  if (webSearch) result.push({ googleSearch: {} });
  return result;
}

function encodeTool(tool: Tool, encoding: Encoding): Json {
  const { name } = tool;
  const description = describedCustomTool(tool);
  const { dropped } = encoding;
  if (tool.strict) dropped.add('tools.strict');
  if (tool.custom?.format) dropped.add('tools.custom');
  const parametersJsonSchema = parametersOf(tool, encoding);
  return { name, ...(description && { description }), ...(parametersJsonSchema && { parametersJsonSchema }) };
}

/** A free-text tool takes its text as one field; a tool without arguments has no schema at all. */
function parametersOf({ name, custom, parameters }: Tool, { dropped, schemas }: Encoding): Json | undefined {
  if (custom) return CUSTOM_PARAMETERS;
  if (parameters === undefined) return undefined;
  const { schema, lost } = toDialect(withItems(parameters), DIALECT, { field: toolSchemaField(name), budget: schemas });
  if (lost.length > 0) dropped.add('tools.parameters');
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
      if (choice.tools.length === 0) return { mode: 'NONE' };
      return {
        mode: choice.required ? 'ANY' : 'VALIDATED',
        allowedFunctionNames: choice.tools.map(({ name }) => name),
      };
  }
}
