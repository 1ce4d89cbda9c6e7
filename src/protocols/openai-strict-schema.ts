/** Schemas that OpenAI accepts: the part of JSON Schema for `strict: true`, and its requirements of all parameters. */

import { isObject, type Json } from '../core/json/json.ts';
import { type SchemaDialect, withItems } from '../core/json/schema.ts';

const FORMATS = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'];
const LOOKAROUND = /\(\?<?[=!]/;

export const strictSchema: SchemaDialect = {
  keep: [
    '$schema',
    '$ref',
    '$defs',
    'type',
    'title',
    'description',
    'properties',
    'required',
    'additionalProperties',
    'items',
    'anyOf',
    'enum',
    'const',
    'pattern',
    'format',
    'minimum',
    'maximum',
    'exclusiveMinimum',
    'exclusiveMaximum',
    'multipleOf',
    'minItems',
    'maxItems',
  ],
  describe: ['pattern', 'format', 'minLength', 'maxLength', 'uniqueItems', 'not'],
  accepts(keyword: string, value: Json): boolean {
    if (keyword === 'pattern') return !LOOKAROUND.test(value);
    return keyword !== 'format' || FORMATS.includes(value);
  },
  closed: true,
  allRequired: true,
};

/** Parameters of a function as an object with properties, in which each array has items: others are refused, strict or not. */
export function functionParameters(parameters: Json): Json {
  const schema = withItems(parameters);
  if (!isObject(schema) || schema.properties !== undefined || schema.$ref !== undefined) return schema;
  if (Object.keys(schema).length === 0) return { type: 'object', properties: {} };
  return schema.type === 'object' ? { ...schema, properties: {} } : schema;
}
