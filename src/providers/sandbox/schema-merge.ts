/** JSON Schema merge: drops malformed keywords and intersects two nodes, one level deep. */

import { isObject, type Json } from '../../core/json/json.ts';
import type { SchemaWork } from '../../core/json/schema-budget.ts';
import { lookUp } from '../../core/plain-objects.ts';

export type Schema = Record<string, Json>;

const CHARACTERS_PER_STEP = 64;

const isNumber = (value: Json): boolean => typeof value === 'number';
const isNames = (value: Json): boolean => Array.isArray(value) && value.every((name) => typeof name === 'string');

const KEYWORD_CHECKS: Record<string, (value: Json) => boolean> = {
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

export interface SandboxSchemaMerge {
  /** The node without malformed keywords. */
  wellFormed(node: Schema): Schema;
  /** Intersection of both nodes; unknown keywords of `over` win. */
  mergeSchemas(under: Schema, over: Schema): Schema;
}

export function createMerge(work: SchemaWork): SandboxSchemaMerge {
  const known = new WeakMap<Schema, Schema>();

  function wellFormed(node: Schema): Schema {
    const before = known.get(node);
    if (before) return before;
    const entries = Object.entries(node);
    work.spend(entries.length);
    const trusted = Object.fromEntries(
      entries.filter(([keyword, value]) => lookUp(KEYWORD_CHECKS, keyword)?.(value) ?? keyword !== '__proto__'),
    );
    known.set(node, trusted);
    return trusted;
  }

  function mergeSchemas(under: Schema, over: Schema): Schema {
    const merged = { ...under };
    const entries = Object.entries(over);
    work.spend(entries.length + Object.keys(under).length);
    for (const [keyword, value] of entries) {
      merged[keyword] = keyword in under ? mergeKeyword(keyword, under[keyword], value) : value;
    }
    return merged;
  }

  function mergeKeyword(keyword: string, under: Json, over: Json): Json {
    switch (keyword) {
      case 'properties':
        return mergeProperties(under, over);
      case 'required':
        work.spend(under.length + over.length);
        return [...new Set([...under, ...over])];
      case 'type':
        return mergeTypes([under].flat(), [over].flat());
      case 'enum':
        return mergeEnums(under, over);
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
        work.spend(over.length);
        return over.map((branch: Json) => ({ allOf: [branch, { [keyword]: under }] }));
      default:
        return over;
    }
  }

  function mergeProperties(under: Schema, over: Schema): Schema {
    const entries = Object.entries(over);
    work.spend(entries.length + Object.keys(under).length);
    const shared = entries.map(([name, schema]) => [
      name,
      Object.hasOwn(under, name) ? { allOf: [under[name], schema] } : schema,
    ]);
    return { ...under, ...Object.fromEntries(shared) };
  }

  /** Intersection of type lists; an integer is a number. */
  function mergeTypes(under: string[], over: string[]): string[] {
    work.spend(under.length * over.length);
    const both = (one: string[], other: string[]) =>
      one.filter((name) => other.includes(name) || (name === 'integer' && other.includes('number')));
    return [...new Set([...both(under, over), ...both(over, under)])];
  }

  function mergeEnums(under: Json[], over: Json[]): Json[] {
    const allowed = new Set(over.map(comparable));
    return under.filter((value) => allowed.has(comparable(value)));
  }

  /** Comparison key, equal for equal JSON values. */
  function comparable(value: Json): unknown {
    work.spend(1);
    const text = typeof value === 'string' ? `"${value}` : JSON.stringify(value);
    work.spend(text.length / CHARACTERS_PER_STEP);
    return text;
  }

  return { wellFormed, mergeSchemas };
}
