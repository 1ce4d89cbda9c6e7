/** Schemas: the OpenAPI form of older clients becomes JSON Schema, and JSON Schema is reduced to the keywords that Gemini accepts. */

import { isObject, type Json } from '../../core/json/json.ts';
import type { SchemaDialect } from '../../core/json/schema.ts';
import { orNull } from '../../core/json/schema-null.ts';
import { camelCase } from './spelling.ts';

/** Keywords allowed in `parametersJsonSchema` and `responseJsonSchema`. */
export const DIALECT: SchemaDialect = {
  keep: [
    '$id',
    '$defs',
    '$ref',
    '$anchor',
    'type',
    'format',
    'title',
    'description',
    'enum',
    'items',
    'prefixItems',
    'minItems',
    'maxItems',
    'minimum',
    'maximum',
    'anyOf',
    'properties',
    'additionalProperties',
    'required',
    'propertyOrdering',
  ],
  accepts: (keyword, value) => keyword !== 'enum' || typeof value === 'string' || typeof value === 'number',
};

/** Limits that protobuf JSON writes as strings because they are 64 bits wide. */
const INT64_KEYWORDS = new Set(['minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties']);

const NOT_JSON_SCHEMA = new Set(['nullable', 'propertyOrdering']);

/** JSON Schema of a schema in OpenAPI form, in either spelling of its keywords. */
export function fromSchemaForm(schema: Json): Json {
  if (!isObject(schema)) return schema;
  const result: Record<string, Json> = {};
  let nullable = false;
  for (const [key, value] of Object.entries(schema)) {
    const keyword = camelCase(key);
    if (value === null || value === undefined) continue;
    if (keyword === 'nullable') nullable = value === true;
    if (NOT_JSON_SCHEMA.has(keyword)) continue;
    const translated = translateKeyword(keyword, value);
    if (keyword === 'example') result.examples = [value];
    else if (translated !== undefined) result[keyword] = translated;
  }
  const order = schema.propertyOrdering ?? schema.property_ordering;
  if (Array.isArray(order) && isObject(result.properties)) result.properties = inOrder(result.properties, order);
  return nullable ? orNull(result) : result;
}

/** Properties in the order in which the answer shall have them: elsewhere it is that of the schema. */
function inOrder(properties: Record<string, Json>, order: Json[]): Record<string, Json> {
  const named = order.filter((name) => typeof name === 'string' && Object.hasOwn(properties, name));
  const names = new Set<string>([...named, ...Object.keys(properties)]);
  return Object.fromEntries([...names].map((name) => [name, properties[name]]));
}

function translateKeyword(keyword: string, value: Json): Json {
  switch (keyword) {
    case 'type':
      return value === 'TYPE_UNSPECIFIED' ? undefined : typeof value === 'string' ? value.toLowerCase() : value;
    case 'format':
      return value === 'enum' ? undefined : value;
    case 'items':
      return fromSchemaForm(value);
    case 'anyOf':
      return Array.isArray(value) ? value.map(fromSchemaForm) : value;
    case 'properties':
      return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, fromSchemaForm(inner)]));
    default:
      return INT64_KEYWORDS.has(keyword) && typeof value === 'string' ? Number(value) : value;
  }
}
