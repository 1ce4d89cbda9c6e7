/** JSON Schema nodes: without keywords whose value makes no sense, and two as one that what fits it fits both, as far as one level of keywords can say it. */

import { isObject, type Json } from '../../core/json.ts';
import { lookUp } from '../../core/table.ts';

export type Schema = Record<string, Json>;

const isNumber = (value: Json): boolean => typeof value === 'number';
const isNames = (value: Json): boolean => Array.isArray(value) && value.every((name) => typeof name === 'string');

const VALID: Record<string, (value: Json) => boolean> = {
  allOf: Array.isArray,
  anyOf: Array.isArray,
  oneOf: Array.isArray,
  prefixItems: Array.isArray,
  enum: Array.isArray,
  required: isNames,
  properties: isObject,
  type: (value) => typeof value === 'string' || isNames(value),
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isNumber,
  exclusiveMaximum: isNumber,
  multipleOf: isNumber,
  minLength: isNumber,
  maxLength: isNumber,
  minItems: isNumber,
  maxItems: isNumber,
  minProperties: isNumber,
  maxProperties: isNumber,
};

/** The node without keywords that break the rules of JSON Schema, so that the others can be trusted. */
export function wellFormed(node: Schema): Schema {
  return Object.fromEntries(
    Object.entries(node).filter(([keyword, value]) => lookUp(VALID, keyword)?.(value) ?? keyword !== '__proto__'),
  );
}

/** Of keywords that nothing is known about, those of `over` win. */
export function mergeSchemas(under: Schema, over: Schema): Schema {
  const merged = { ...under };
  for (const [keyword, value] of Object.entries(over)) {
    merged[keyword] = keyword in under ? mergeKeyword(keyword, under[keyword], value) : value;
  }
  return merged;
}

function mergeKeyword(keyword: string, under: Json, over: Json): Json {
  switch (keyword) {
    case 'properties':
      return mergeProperties(under, over);
    case 'required':
      return [...new Set([...under, ...over])];
    case 'type':
      return mergeTypes([under].flat(), [over].flat());
    case 'enum':
      return under.filter((value: Json) => over.some((other: Json) => JSON.stringify(value) === JSON.stringify(other)));
    case 'minimum':
    case 'exclusiveMinimum':
    case 'minLength':
    case 'minItems':
    case 'minProperties':
      return Math.max(under, over);
    case 'maximum':
    case 'exclusiveMaximum':
    case 'maxLength':
    case 'maxItems':
    case 'maxProperties':
      return Math.min(under, over);
    case 'items':
    case 'additionalProperties':
      return { allOf: [under, over] };
    case 'anyOf':
    case 'oneOf':
      return over.map((branch: Json) => ({ allOf: [branch, { [keyword]: under }] }));
    default:
      return over;
  }
}

function mergeProperties(under: Schema, over: Schema): Schema {
  const shared = Object.entries(over).map(([name, schema]) => [
    name,
    Object.hasOwn(under, name) ? { allOf: [under[name], schema] } : schema,
  ]);
  return { ...under, ...Object.fromEntries(shared) };
}

/** The types in both lists; every integer is a number. */
function mergeTypes(under: string[], over: string[]): string[] {
  const both = (one: string[], other: string[]) =>
    one.filter((name) => other.includes(name) || (name === 'integer' && other.includes('number')));
  return [...new Set([...both(under, over), ...both(over, under)])];
}
