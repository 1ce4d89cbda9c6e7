/** Tools, tool choice and output format for Converse. */

import type { ChatRequest, ResponseFormat, Tool, ToolChoice } from '../../core/chat.ts';
import { CUSTOM_PARAMETERS, describedCustomTool } from '../../core/custom-tool.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import { describedSchema, type SchemaDialect, toDialect } from '../../core/json/schema.ts';
import { formatSchemaField, type SchemaBudget, toolSchemaField } from '../../core/json/schema-budget.ts';
import type { ModelRules } from '../../core/model.ts';
import { allowedTools } from '../../core/tools.ts';
import type { ModelFamily } from './families.ts';

/** Name of the tool that stands for the answer of a model that is only bound to schemas by tools. */
export const ANSWER_TOOL = 'json_answer';

const FORMATS = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid'];
const LIMITS = [
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
  'not',
  'format',
];

/** Part of JSON Schema that can be enforced. */
const BOUND: SchemaDialect = {
  keep: [
    'type',
    'title',
    'description',
    '$ref',
    '$defs',
    'enum',
    'const',
    'properties',
    'required',
    'additionalProperties',
    'items',
    'anyOf',
    'allOf',
    'format',
  ],
  describe: LIMITS,
  accepts: (keyword, value) => keyword !== 'format' || FORMATS.includes(value),
  closed: true,
  acyclic: true,
};

/** Part that a model reads whose parameters are plain: without references, since these have no place for definitions. */
const PLAIN: SchemaDialect = {
  keep: [
    'type',
    'title',
    'description',
    'default',
    'enum',
    'const',
    'properties',
    'required',
    'additionalProperties',
    'items',
    'anyOf',
    'oneOf',
    'allOf',
    ...LIMITS,
  ],
  acyclic: true,
};
const PLAIN_MEMBERS = new Set(['type', 'properties', 'required']);
/** Members at the top that mean nothing to a model, or nothing more. */
const SILENT_MEMBERS = new Set(['title', 'description', '$schema', '$id', '$defs', 'definitions']);

/** Settings of the encoders. */
export interface FormatOptions {
  rules: ModelRules;
  family: ModelFamily;
  schemas: SchemaBudget;
  /** Hub names of dropped members. */
  dropped: Set<string>;
}

/** Tools of the body, and sentences of the system prompt in place of what the model does not have. */
interface EncodedTools {
  tools: Json[];
  choice?: Json;
  instructions: string[];
}

/** `isNeeded`: the conversation has calls, so that tools may not be left out. */
export function encodeTools(request: ChatRequest, options: FormatOptions, isNeeded: boolean): EncodedTools {
  const offered = allowedTools(request);
  const choice = request.toolChoice;
  if (offered.length === 0 || (choice?.type === 'none' && !isNeeded)) return { tools: [], instructions: [] };
  if (request.parallelCalls === false) options.dropped.add('parallelCalls');
  if (offered.some((tool) => tool.custom?.format)) options.dropped.add('tools.custom');
  if (offered.some((tool) => tool.cache)) options.dropped.add('cache');
  const tools = offered.map((tool) => encodeTool(tool, options));
  if (choice?.type === 'none') return { tools, instructions: ['Answer without calling a tool.'] };
  const forced = choice && forcedChoice(choice);
  if (!forced) return { tools, instructions: [] };
  const own = settledChoice(forced, options);
  return own ? { tools, choice: own, instructions: [] } : { tools, instructions: [forcingWords(choice)] };
}

function encodeTool(tool: Tool, options: FormatOptions): Json {
  const { name, custom, parameters, strict } = tool;
  const description = describedCustomTool(tool);
  const isBound = strict === true && !custom && isSchemaBound(options);
  if (strict && !custom && !isBound) options.dropped.add('tools.strict');
  const json = custom ? CUSTOM_PARAMETERS : encodeParameters(name, parameters, { ...options, isBound });
  return {
    toolSpec: { name, ...(description && { description }), inputSchema: { json }, ...(isBound && { strict: true }) },
  };
}

function isSchemaBound({ rules, family }: FormatOptions): boolean {
  return rules.schema ?? family.schema;
}

function encodeParameters(
  tool: string,
  parameters: Json,
  { family, schemas, dropped, isBound }: FormatOptions & { isBound: boolean },
): Json {
  if (!isObject(parameters) || Object.keys(parameters).length === 0) return { type: 'object', properties: {} };
  const own = parameters.type === 'object' ? parameters : { ...parameters, type: 'object' };
  if (!isBound && !family.plainParameters) return own;
  const { schema, lost } = toDialect(own, isBound ? BOUND : PLAIN, { field: toolSchemaField(tool), budget: schemas });
  if (lost.some((path) => !SILENT_MEMBERS.has(path))) dropped.add('tools.parameters');
  return family.plainParameters ? plain(schema, dropped) : schema;
}

/** The three members that parameters may have. */
function plain(schema: Json, dropped: Set<string>): Json {
  const members = Object.entries<Json>(schema);
  const isLost = ([name, value]: [string, Json]) =>
    !PLAIN_MEMBERS.has(name) && !SILENT_MEMBERS.has(name) && !(name === 'additionalProperties' && !isObject(value));
  if (members.some(isLost)) dropped.add('tools.parameters');
  return { properties: {}, ...Object.fromEntries(members.filter(([name]) => PLAIN_MEMBERS.has(name))) };
}

function forcedChoice(choice: ToolChoice): Json {
  switch (choice.type) {
    case 'required':
      return { any: {} };
    case 'named':
      return { tool: { name: choice.name } };
    case 'allowed':
      return choice.required ? { any: {} } : undefined;
    case 'auto':
    case 'none':
      return undefined;
  }
}

/** The choice as the model takes it; undefined if it takes none. */
function settledChoice(forced: Json, { rules, family }: FormatOptions): Json {
  const isTaken = rules.forcedChoice ?? family.choices.includes(forced.tool ? 'tool' : 'any');
  return isTaken ? forced : undefined;
}

function forcingWords(choice: ToolChoice | undefined): string {
  if (choice?.type === 'named') return `Answer by calling the tool ${choice.name}.`;
  return 'Answer by calling at least one of the tools.';
}

/** Output format: bound by the platform, by a tool that the model must call, or described in the system prompt. */
interface EncodedFormat {
  output?: Json;
  tool?: Json;
  instructions: string[];
}

/** `canForce`: the request has neither tools nor reasoning, beside which no tool can stand for the answer. */
export function encodeFormat(
  format: ResponseFormat | undefined,
  options: FormatOptions,
  canForce: boolean,
): EncodedFormat {
  if (!format) return { instructions: [] };
  if (format.type === 'json') return { instructions: [JSON_WORDS] };
  const { schemas, dropped } = options;
  const asked = describedSchema(format);
  if (isSchemaBound(options)) {
    const { schema, lost } = toDialect(asked, BOUND, { field: formatSchemaField, budget: schemas });
    for (const path of lost) dropped.add(`format.schema.${path}`);
    const about = {
      ...(format.name && { name: format.name }),
      ...(format.description && { description: format.description }),
    };
    const jsonSchema = { schema: JSON.stringify(schema), ...about };
    return { output: { textFormat: { type: 'json_schema', structure: { jsonSchema } } }, instructions: [] };
  }
  if (!canForce || !settledChoice({ tool: {} }, options))
    return { instructions: [`${JSON_WORDS} It must satisfy this JSON Schema: ${JSON.stringify(asked)}`] };
  const json = encodeParameters(ANSWER_TOOL, asked, { ...options, isBound: false });
  const description = format.description || 'The whole answer, as its arguments.';
  return { tool: { toolSpec: { name: ANSWER_TOOL, description, inputSchema: { json } } }, instructions: [] };
}

const JSON_WORDS = 'Answer with a single JSON object and nothing else: no prose around it and no code fences.';
