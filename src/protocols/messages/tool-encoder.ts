/** Tools, tool choice and output format for an upstream of the messages protocol. */

import type { ChatRequest, Tool, ToolChoice } from '../../core/chat.ts';
import { CUSTOM_PARAMETERS, describedCustomTool } from '../../core/custom-tool.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import { describedSchema, type SchemaDialect, toDialect } from '../../core/json/schema.ts';
import { formatSchemaField, type SchemaBudget, toolSchemaField } from '../../core/json/schema-budget.ts';
import type { ModelRules } from '../../core/model.ts';
import { allowedTools } from '../../core/tools.ts';
import { settleWebSearch } from '../../core/web-search.ts';
import { encodeMark } from './cache.ts';
import { NEWEST } from './rules.ts';

const MAX_STRICT = 20;
const SEARCH = 'web_search_20250305';
const FORMATS = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid'];

/** JSON Schema keywords that strict tools and output formats accept; keywords in `describe` move into the description. */
const DIALECT: SchemaDialect = {
  keep: [
    'type',
    'title',
    'description',
    'default',
    'examples',
    '$schema',
    '$id',
    '$ref',
    '$defs',
    'enum',
    'const',
    'properties',
    'required',
    'additionalProperties',
    'items',
    'prefixItems',
    'anyOf',
    'allOf',
    'format',
  ],
  describe: [
    'minimum',
    'maximum',
    'exclusiveMinimum',
    'exclusiveMaximum',
    'multipleOf',
    'minLength',
    'maxLength',
    'pattern',
    'minItems',
    'maxItems',
    'uniqueItems',
    'minProperties',
    'maxProperties',
    'not',
    'format',
  ],
  accepts: (keyword, value) => keyword !== 'format' || FORMATS.includes(value),
  closed: true,
  acyclic: true,
};

/** Members of the body, and sentences for the system prompt that replace unsupported members. */
export interface Encoded {
  fields: Json;
  instructions: string[];
  dropped: string[];
}

export function encodeTools(request: ChatRequest, rules: ModelRules, schemas: SchemaBudget): Encoded {
  const { tools } = request;
  const encoded: Encoded = { fields: {}, instructions: [], dropped: [] };
  const offered = allowedTools(request);
  const strict = tools.filter((tool) => tool.strict).length <= MAX_STRICT;
  if (!strict) encoded.dropped.push('tools.strict');
  if (offered.some((tool) => tool.custom?.format)) encoded.dropped.push('tools.custom');
  const wire = offered.map((tool) => encodeTool(tool, strict ? schemas : undefined, encoded));
  const search = settleWebSearch(request, rules.webSearch ?? NEWEST.webSearch, (name) => encoded.dropped.push(name));
  if (search) wire.push(encodeSearch(search, encoded));
  if (wire.length === 0) return encoded;
  encoded.fields.tools = wire;
  const toolChoice = encodeChoice(request, rules, encoded);
  if (toolChoice) encoded.fields.tool_choice = toolChoice;
  return encoded;
}

/** Without a budget for its schema, a tool is not strict. */
function encodeTool(tool: Tool, schemas: SchemaBudget | undefined, { dropped }: Encoded): Json {
  const wire: Json = { name: tool.name };
  const description = describedCustomTool(tool);
  if (description) wire.description = description;
  const parameters = withoutUnion(tool.parameters);
  if (parameters !== tool.parameters && !dropped.includes('tools.parameters')) dropped.push('tools.parameters');
  wire.input_schema = tool.custom ? CUSTOM_PARAMETERS : objectSchema(parameters);
  if (tool.strict && schemas && !tool.custom) {
    const task = { field: toolSchemaField(tool.name), budget: schemas };
    const { schema, lost } = toDialect(wire.input_schema, DIALECT, task);
    if (lost.length > 0 && !dropped.includes('tools.parameters')) dropped.push('tools.parameters');
    wire.input_schema = schema;
    wire.strict = true;
  }
  return { ...wire, ...encodeMark(tool.cache) };
}

const UNIONS = ['anyOf', 'oneOf', 'allOf'] as const;

/**
 * Parameters without alternatives at their top, where they are refused: an object with the properties of all of them, of which
 * only those are required that each of them requires. Alternatives of one property stay such.
 */
function withoutUnion(parameters: Json): Json {
  if (!isObject(parameters) || !UNIONS.some((keyword) => parameters[keyword] !== undefined)) return parameters;
  const { anyOf, oneOf, allOf, ...result } = parameters;
  const [all, any, one] = [allOf, anyOf, oneOf].map((list) => branchesOf(list, result)) as [Json[], Json[], Json[]];
  const properties = new Map<string, Map<string, Json>>();
  for (const schema of new Set([result, ...all, ...any, ...one])) {
    for (const [name, property] of Object.entries(isObject(schema?.properties) ? schema.properties : {})) {
      const known = properties.get(name) ?? new Map<string, Json>();
      properties.set(name, known.set(JSON.stringify(property), property));
    }
  }
  const merged = [...properties].map(([name, found]) => {
    const alternatives = [...found.values()];
    return [name, alternatives.length === 1 ? alternatives[0] : { anyOf: alternatives }];
  });
  const required = new Set([...requiredOf(result), ...all.flatMap(requiredOf), ...common(any), ...common(one)]);
  result.properties = Object.fromEntries(merged);
  if (required.size > 0) result.required = [...required];
  return result;
}

/** Branches with their references resolved, each once. */
function branchesOf(list: Json, root: Json): Json[] {
  return Array.isArray(list) ? [...new Set(list.map((branch) => resolved(branch, root)))] : [];
}

/** Names that every branch requires. */
function common(branches: Json[]): string[] {
  const counts = new Map<string, number>();
  for (const branch of branches)
    for (const name of new Set(requiredOf(branch))) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].filter(([, count]) => count === branches.length).map(([name]) => name);
}

function requiredOf(schema: Json): string[] {
  return Array.isArray(schema?.required) ? schema.required : [];
}

/** The definition that a branch refers to. */
function resolved(branch: Json, { $defs, definitions }: Json): Json {
  const [, name = ''] = /^#\/(?:\$defs|definitions)\/(.+)$/.exec(branch?.$ref ?? '') ?? [];
  return branch?.$ref === undefined ? branch : ($defs ?? definitions)?.[name];
}

function objectSchema(parameters: Json): Json {
  if (!isObject(parameters) || Object.keys(parameters).length === 0) return { type: 'object', properties: {} };
  return parameters.type === 'object' ? parameters : { ...parameters, type: 'object' };
}

function encodeSearch(search: NonNullable<ChatRequest['webSearch']>, encoded: Encoded): Json {
  if (search.contextSize !== undefined) encoded.dropped.push('webSearch.contextSize');
  const location = search.location && { user_location: { type: 'approximate', ...search.location } };
  return { type: SEARCH, name: 'web_search', ...location };
}

function encodeChoice(request: ChatRequest, rules: ModelRules, encoded: Encoded): Json {
  const single = request.parallelCalls === false && { disable_parallel_tool_use: true };
  const choice = request.toolChoice ?? { type: 'auto' };
  if (choice.type === 'none') return { type: 'none' };
  const forced = forcedChoice(choice);
  if (forced && (rules.forcedChoice ?? NEWEST.forcedChoice)) return { ...forced, ...single };
  if (forced) encoded.instructions.push(forcingWords(choice));
  return request.toolChoice || single ? { type: 'auto', ...single } : undefined;
}

function forcedChoice(choice: ToolChoice): Json {
  switch (choice.type) {
    case 'required':
      return { type: 'any' };
    case 'named':
      return { type: 'tool', name: choice.name };
    case 'allowed':
      return choice.required ? { type: 'any' } : undefined;
    case 'auto':
    case 'none':
      return undefined;
  }
}

function forcingWords(choice: ToolChoice): string {
  if (choice.type === 'named') return `Answer by calling the tool ${choice.name}.`;
  return 'Answer by calling at least one of the tools.';
}

/** Describes output formats in the system prompt, for models without native formats. */
export function encodeFormat(request: ChatRequest, rules: ModelRules, schemas: SchemaBudget): Encoded {
  const { format } = request;
  if (!format) return { fields: {}, instructions: [], dropped: [] };
  if (format.type === 'json') return { fields: {}, instructions: [JSON_WORDS], dropped: [] };
  const asked = describedSchema(format);
  if (!(rules.schema ?? NEWEST.schema)) {
    const words = `${JSON_WORDS} It must satisfy this JSON Schema: ${JSON.stringify(asked)}`;
    return { fields: {}, instructions: [words], dropped: [] };
  }
  const { schema, lost } = toDialect(asked, DIALECT, { field: formatSchemaField, budget: schemas });
  const dropped = lost.map((path) => `format.schema.${path}`);
  return { fields: { format: { type: 'json_schema', schema } }, instructions: [], dropped };
}

const JSON_WORDS = 'Answer with a single JSON object and nothing else: no prose around it and no code fences.';
