/** Tool decoder: a client's tools and tool configuration in the hub form. */

import type { ChatRequest, Tool, ToolChoice } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import { fromSchemaForm } from './schema.ts';
import { list } from './spelling.ts';

const DECLARATION_FIELDS = new Set(['name', 'description', 'parameters', 'parametersJsonSchema']);

const SEARCH_TOOLS = new Set(['googleSearch', 'googleSearchRetrieval']);

interface DecodedTools extends Pick<ChatRequest, 'tools' | 'webSearch'> {
  /** Names of members that the hub does not carry. */
  dropped: Set<string>;
}

/** Throws `unsupported_tool` for tools that run at Google, because dropping them would change the answer. */
export function decodeTools(tools: Json): Pick<ChatRequest, 'tools' | 'webSearch' | 'dropped'> {
  const decoded: DecodedTools = { tools: [], dropped: new Set() };
  for (const [index, tool] of list(tools).entries()) {
    for (const [name, value] of Object.entries(tool))
      addTools(decoded, { name, value, param: `tools[${index}].${name}` });
  }
  return { ...decoded, dropped: [...decoded.dropped] };
}

/** Adds the tools in one member of an entry of `tools`. */
function addTools(decoded: DecodedTools, { name, value, param }: { name: string; value: Json; param: string }): void {
  const { tools, dropped } = decoded;
  if (value === null || (Array.isArray(value) && value.length === 0)) return;
  if (name === 'functionDeclarations') {
    for (const declaration of list(value)) tools.push(decodeDeclaration(declaration, dropped));
  } else if (SEARCH_TOOLS.has(name)) {
    decoded.webSearch = {};
    if (isObject(value)) for (const key of Object.keys(value)) dropped.add(`tools.${name}.${key}`);
  } else {
    const message = `The tool ${name} runs inside Google's models and is not available for this model.`;
    throw new GatewayError('unsupported_tool', message, { param });
  }
}

function decodeDeclaration(declaration: Json, dropped: Set<string>): Tool {
  const { name, description, parameters, parametersJsonSchema } = declaration;
  if (parameters && parametersJsonSchema) {
    const message = `The parameters and parametersJsonSchema of the function ${name} exclude each other.`;
    throw new GatewayError('invalid_request', message, { param: 'tools.functionDeclarations.parameters' });
  }
  for (const [key, value] of Object.entries(declaration)) {
    if (!DECLARATION_FIELDS.has(key) && value !== null) dropped.add(`tools.functionDeclarations.${key}`);
  }
  const schema = parametersJsonSchema ?? (parameters ? fromSchemaForm(parameters) : undefined);
  return { name, ...(description && { description }), ...(isObject(schema) && { parameters: schema }) };
}

export function decodeToolChoice(config: Json): ToolChoice | undefined {
  const calling = config?.functionCallingConfig;
  if (!isObject(calling)) return undefined;
  const names: string[] = calling.allowedFunctionNames ?? [];
  const [first] = names;
  const tools = names.map((name) => ({ name }));
  const mode = String(calling.mode ?? 'AUTO').toUpperCase();
  switch (mode) {
    case 'NONE':
      return { type: 'none' };
    case 'ANY':
      if (first === undefined) return { type: 'required' };
      return names.length === 1 ? { type: 'named', name: first } : { type: 'allowed', tools, required: true };
    case 'VALIDATED':
      return first === undefined ? { type: 'auto' } : { type: 'allowed', tools, required: false };
    case 'AUTO':
    case 'MODE_UNSPECIFIED':
      return { type: 'auto' };
    default: {
      const param = 'toolConfig.functionCallingConfig.mode';
      throw new GatewayError('invalid_request', `${param} must be one of AUTO, ANY, NONE, VALIDATED, not ${mode}.`, {
        param,
      });
    }
  }
}
