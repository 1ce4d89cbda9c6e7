/** Deterministic sample value for a JSON Schema, constructed rather than guessed. */

import { isObject, type Json } from '../../core/json/json.ts';
import { createSchemaBudget, type SchemaBudget, type SchemaField, workOn } from '../../core/json/schema-budget.ts';
import { sampleNumber, sampleString } from './scalar-sample.ts';
import { createMerge, type Schema } from './schema-merge.ts';
import { createSizes } from './schema-size.ts';

/** Optional members are included down to this depth and while the value is small. */
const OPTIONAL_MAX_DEPTH = 5;
const OPTIONAL_MAX_STEPS = 500;

/** Limits for recursive and very large schemas. */
const MAX_DEPTH = 64;
const MAX_STEPS = 5_000;

/** Budget of work and output size for all schemas of one request. */
export const createSampleBudget = () => createSchemaBudget({ steps: 40_000, characters: 256 * 1024 });

/**
 * Free strings contain `text`. Undefined if no value was found: the schema is contradictory, infinite, or not supported
 * (`not`, `if`, `contains` and `propertyNames` are ignored). Throws `invalid_request` if the budget is exceeded.
 */
export function sampleSchema(
  root: Json,
  text: string,
  { field, budget = createSampleBudget() }: { field?: SchemaField; budget?: SchemaBudget } = {},
): Json {
  const work = workOn(field, budget);
  const { mergeSchemas, wellFormed } = createMerge(work);
  const sizeOf = createSizes(work);
  let steps = 0;

  /** Charges the size of a value to the budget. */
  function counted(value: Json): Json {
    work.write(sizeOf(value));
    return value;
  }

  /** `nth` makes the items of an array differ if they must be unique. */
  function sample(schema: Json, depth: number, nth: number): Json {
    const node = flatten(schema, depth);
    if (!node) return undefined;
    if (node.const !== undefined) return counted(node.const);
    if (node.enum) return counted(node.enum[nth % node.enum.length]);
    for (const name of ['anyOf', 'oneOf']) {
      const { [name]: branches, ...rest } = node;
      if (branches) return sampleBranch(branches, rest, depth, nth);
    }
    switch (typeOf(node, includesOptional(depth))) {
      case 'object':
        return sampleObject(node, depth, nth);
      case 'array':
        return sampleArray(node, depth, nth);
      case 'number':
        return counted(sampleNumber(node, false, nth));
      case 'integer':
        return counted(sampleNumber(node, true, nth));
      case 'boolean':
        return nth % 2 === 1;
      case 'null':
        return null;
      default:
        if (typeof node.pattern === 'string') work.spend(node.pattern.length);
        return counted(sampleString(node, nth === 0 ? text : `${nth + 1} ${text}`));
    }
  }

  function includesOptional(depth: number): boolean {
    return depth <= OPTIONAL_MAX_DEPTH && steps <= OPTIONAL_MAX_STEPS;
  }

  /** The schema with its `$ref` and `allOf` merged in; undefined if nothing matches it. */
  function flatten(schema: Json, depth: number): Schema | undefined {
    work.spend(1);
    if (schema === false || ++steps > MAX_STEPS || depth > MAX_DEPTH) return undefined;
    if (!isObject(schema)) return {};
    const { $ref, allOf = [], ...own } = wellFormed(schema);
    const parts = typeof $ref === 'string' ? [resolveReference($ref), ...allOf] : allOf;
    let node: Schema = own;
    for (const part of parts) {
      const inner = flatten(part, depth + 1);
      if (!inner) return undefined;
      node = mergeSchemas(inner, node);
    }
    return node;
  }

  /** Target of a local reference; a remote one allows everything. */
  function resolveReference(reference: string): Json {
    if (!reference.startsWith('#')) return {};
    const names = reference.split('/').slice(1);
    work.spend(names.length + reference.length / 64);
    return names.reduce((node: Json, name) => {
      const key = decoded(name).replaceAll('~1', '/').replaceAll('~0', '~');
      return typeof node === 'object' && node !== null && Object.hasOwn(node, key) ? node[key] : {};
    }, root);
  }

  /** At depth, branches without nesting are tried first. */
  function sampleBranch(branches: Json[], rest: Schema, depth: number, nth: number): Json {
    work.spend(branches.length);
    const order = includesOptional(depth)
      ? branches
      : branches.toSorted((one, other) => Number(mayNest(one)) - Number(mayNest(other)));
    for (const branch of order) {
      const inner = flatten(branch, depth + 1);
      const value = inner && sample(mergeSchemas(inner, rest), depth + 1, nth);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  function sampleObject(node: Schema, depth: number, nth: number): Json {
    const { properties = {}, additionalProperties = {}, minProperties = 0, maxProperties = Infinity } = node;
    const required = new Set<string>(node.required);
    work.spend(required.size + Object.keys(properties).length);
    const members = new Map<string, Json>();
    for (const name of required) {
      const inner = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
      const value = sample(inner, depth + 1, nth);
      if (value === undefined) return undefined;
      work.write(name.length);
      members.set(name, value);
    }
    for (const [name, inner] of Object.entries(properties)) {
      if (members.has(name) || members.size >= (includesOptional(depth) ? maxProperties : minProperties)) continue;
      const value = sample(inner, depth + 1, nth);
      if (value === undefined) continue;
      work.write(name.length);
      members.set(name, value);
    }
    for (let number = 1; members.size < minProperties; number++) {
      const value = sample(additionalProperties, depth + 1, nth);
      if (value === undefined) return undefined;
      work.write(`key${number}`.length);
      members.set(`key${number}`, value);
    }
    const order = [...Object.keys(properties), ...members.keys()].filter((name) => members.has(name));
    return Object.fromEntries(order.map((name) => [name, members.get(name)]));
  }

  function sampleArray(node: Schema, depth: number, nth: number): Json {
    const tuple = Array.isArray(node.items) ? node.items : (node.prefixItems ?? []);
    const rest = (Array.isArray(node.items) ? node.additionalItems : node.items) ?? {};
    const { minItems = 0, maxItems = Infinity } = node;
    const usual = includesOptional(depth) ? Math.min(maxItems, tuple.length || 1) : 0;
    const items: Json[] = [];
    while (items.length < Math.max(minItems, usual)) {
      const inner = items.length < tuple.length ? tuple[items.length] : rest;
      const value = sample(inner, depth + 1, node.uniqueItems === true ? items.length : nth);
      if (value === undefined) return items.length < minItems ? undefined : items;
      items.push(value);
    }
    return items;
  }

  return sample(root, 0, 0);
}

/** Type of a node: explicit, else inferred from its keywords. */
function typeOf(node: Schema, generous: boolean): string {
  if (Array.isArray(node.type)) {
    const substantial = node.type.find((name: string) => name !== 'null');
    return substantial === undefined || (!generous && node.type.includes('null')) ? 'null' : substantial;
  }
  if (typeof node.type === 'string') return node.type;
  const hint = Object.entries(TYPE_HINTS).find(([keyword]) => keyword in node);
  return hint ? hint[1] : 'string';
}

const TYPE_HINTS: Record<string, string> = {
  properties: 'object',
  required: 'object',
  additionalProperties: 'object',
  minProperties: 'object',
  items: 'array',
  prefixItems: 'array',
  minItems: 'array',
  minimum: 'number',
  maximum: 'number',
  exclusiveMinimum: 'number',
  exclusiveMaximum: 'number',
  multipleOf: 'number',
};

function mayNest(schema: Json): boolean {
  return !isObject(schema) || '$ref' in schema || ['object', 'array'].includes(typeOf(schema, false));
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
