/** JSON Schema translation for targets that accept a subset: other keywords are rewritten, described in words or dropped. */

import { isObject, type Json } from './json.ts';
import { copyCounted, type SchemaBudget, type SchemaField, workOn } from './schema-budget.ts';
import { ANNOTATIONS, createMerge, MAPS, type Node } from './schema-merge.ts';
import { orNull, withoutNullable, withoutTypeList } from './schema-null.ts';
import { childPlace, createReferences, type Place, pathOf } from './schema-places.ts';

/**
 * The keywords that a target accepts. A keyword outside `keep` becomes its equivalent inside it where there is one (`oneOf` as `anyOf`,
 * `const` as `enum`, `allOf` merged into its node, `definitions` as `$defs`, `nullable` as a type array and back), else
 * words in the description, else it is dropped. A target that lists `nullable` is assumed to reject type arrays, and one that
 * doesn't list `$ref` gets the definitions inlined.
 */
export interface SchemaDialect {
  keep: readonly string[];
  /** Keywords described to the model in the description instead. */
  describe?: readonly string[];
  /** Whether the value of a kept keyword is supported, e.g. a `format`; called for each value of an `enum`. If absent, all values are supported. */
  accepts?(keyword: string, value: Json): boolean;
  /** `additionalProperties: false` is forced on every object. */
  closed?: boolean;
  /** Every property is required; those that were optional accept null. */
  allRequired?: boolean;
  /** Cyclic references are dropped. */
  acyclic?: boolean;
}

const ONE = new Set(['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames',
  'unevaluatedItems', 'unevaluatedProperties', 'contentSchema']); // biome-ignore format: a list
const LISTS = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems']);

/** Types with the same name in JSON Schema and JavaScript. */
const SCALARS = new Set(['string', 'number', 'boolean']);

/** Adds a description of the format to a schema, for wires without a field for it. */
export function describedSchema({ schema, description }: { schema: Json; description?: string }): Json {
  return description && isObject(schema) && !schema.description ? { description, ...schema } : schema;
}

/** The schema with `items` in each array, which some targets require; without the keyword anything may be an item. Parts that need none are not copied. */
export function withItems(schema: Json): Json {
  if (!isObject(schema)) return schema;
  const inner = mapped(schema, withItemsInside);
  const isArray = schema.type === 'array' || (Array.isArray(schema.type) && schema.type.includes('array'));
  return isArray && schema.items === undefined ? { ...inner, items: {} } : inner;
}

function withItemsInside(value: Json, keyword: string): Json {
  if (MAPS.has(keyword) && isObject(value)) return mapped(value, withItems);
  if (!Array.isArray(value)) return ONE.has(keyword) ? withItems(value) : value;
  if (!LISTS.has(keyword) && keyword !== 'items') return value;
  const items = value.map(withItems);
  return items.every((item, index) => item === value[index]) ? value : items;
}

/** The object itself if no value changes. */
function mapped(object: Record<string, Json>, change: (value: Json, name: string) => Json): Record<string, Json> {
  let changes: Map<string, Json> | undefined;
  for (const name of Object.keys(object)) {
    const changed = change(object[name], name);
    if (changed !== object[name]) changes = (changes ?? new Map(Object.entries(object))).set(name, changed);
  }
  return changes ? Object.fromEntries(changes) : object;
}

/** The work budget of a translation, and the field named in its errors. */
export interface SchemaTask {
  field?: SchemaField;
  budget?: SchemaBudget;
}

/**
 * The schema translated to `dialect`, and the paths of dropped keywords (e.g. `properties.age.multipleOf`). The input
 * is not changed. Throws `invalid_request` for a schema that exceeds the work budget.
 */
export function toDialect(
  schema: Json,
  dialect: SchemaDialect,
  { field, budget }: SchemaTask = {},
): { schema: Json; lost: string[] } {
  const lost = new Set<string>();
  const keeps = new Set(dialect.keep);
  const work = workOn(field, budget);
  const references = createReferences(schema, work);
  const merge = createMerge({ references, work, keepsReferences: keeps.has('$ref'), lose });

  function lose(place: Place): undefined {
    lost.add(pathOf(place, work));
  }

  /** Undefined for a node that no value satisfies; its property or branch is removed. */
  function translate(node: Json, place: Place): Node | undefined {
    work.spend(1);
    if (node === false) return lose(place);
    if (!isObject(node)) return {};
    work.spend(Object.keys(node).length);
    const { node: whole, places } = simplified(node, place);
    if (typeof whole.$ref === 'string') return reference(whole, place);
    const result: Node = {};
    const notes: string[] = [];
    for (const [keyword, value] of Object.entries(whole)) {
      work.spend(1);
      const inside = places.get(keyword) ?? childPlace(place, keyword);
      const kept = keeps.has(keyword) ? translateKeyword(keyword, value, inside) : undefined;
      if (kept !== undefined) result[keyword] = kept;
      else if (dialect.describe?.includes(keyword))
        notes.push(`${keyword}: ${JSON.stringify(copyCounted(value, work))}`);
      else lose(inside);
    }
    if (notes.length > 0) result.description = described(result.description, `(${notes.join(', ')})`);
    return completed(result, whole, place);
  }

  function translateKeyword(keyword: string, value: Json, place: Place): Json {
    if (keyword === 'additionalProperties' && (dialect.closed || typeof value === 'boolean')) return value;
    if (ONE.has(keyword)) return translate(value, place);
    if (LISTS.has(keyword) && Array.isArray(value)) {
      const list = value
        .map((item, index) => translate(item, childPlace(place, index)))
        .filter((item) => item !== undefined);
      return list.length > 0 ? list : undefined;
    }
    if (MAPS.has(keyword) && isObject(value)) {
      const entries = Object.entries(value).map(([name, item]) => {
        work.write(name.length);
        return [name, translate(item, childPlace(place, name))] as const;
      });
      return Object.fromEntries(entries.filter(([, item]) => item !== undefined));
    }
    if (keyword === 'enum' && Array.isArray(value)) {
      work.spend(value.length);
      const values = value.filter((item) => dialect.accepts?.('enum', item) ?? true);
      return values.length > 0 ? copyCounted(values, work) : undefined;
    }
    if (dialect.accepts && !dialect.accepts(keyword, value)) return undefined;
    return copyCounted(value, work);
  }

  /** The node with keywords replaced by their equivalents in the dialect, and the original places of moved keywords. */
  function simplified(node: Node, place: Place): { node: Node; places: Map<string, Place> } {
    const places = new Map<string, Place>();
    let result = { ...node };
    if (Array.isArray(result.allOf) && !keeps.has('allOf')) result = merge(result, place, places);
    renamed(result, 'oneOf', 'anyOf', place, places);
    renamed(result, 'definitions', '$defs', place, places);
    if (Array.isArray(result.items)) renamed(result, 'items', 'prefixItems', place, places);
    if (
      'const' in result &&
      !keeps.has('const') &&
      !('enum' in result) &&
      (dialect.accepts?.('enum', result.const) ?? true)
    ) {
      result.enum = [result.const];
      if (SCALARS.has(typeof result.const)) result.type ??= typeof result.const;
      delete result.const;
    }
    return { node: keeps.has('nullable') ? withoutTypeList(result) : withoutNullable(result), places };
  }

  function renamed(node: Node, from: string, to: string, place: Place, places: Map<string, Place>): void {
    if (!(from in node) || to in node || !keeps.has(to) || (keeps.has(from) && from !== 'items')) return;
    node[to] = node[from];
    delete node[from];
    places.set(to, childPlace(place, from));
  }

  /** A reference must be alone in its node: its annotations move to a wrapper, and only `$defs` and the like stay beside it. */
  function reference(node: Node, place: Place): Node | undefined {
    const { $ref, ...beside } = node;
    const cyclic = (dialect.acyclic || !keeps.has('$ref')) && references.leadsBack($ref, place);
    if (cyclic || (!keeps.has('$ref') && references.resolve($ref) === undefined)) {
      lose(childPlace(place, '$ref'));
      return translate(beside, place);
    }
    if (!keeps.has('$ref')) {
      const target = translate(references.resolve($ref), references.follow($ref, place));
      return target && { ...target, ...(translate(beside, place) ?? {}) };
    }
    const own = Object.fromEntries(
      Object.entries(beside).filter(([keyword]) => keyword.startsWith('$') || ANNOTATIONS.has(keyword)),
    );
    for (const keyword of Object.keys(beside)) if (!(keyword in own)) lose(childPlace(place, keyword));
    const around = translate(own, place) ?? {};
    work.write($ref.length);
    const alone = { $ref: $ref.replace('#/definitions/', keeps.has('definitions') ? '#/definitions/' : '#/$defs/') };
    const bare = Object.keys(around).every((keyword) => keyword.startsWith('$'));
    return bare || !keeps.has('anyOf') ? { ...around, ...alone } : { ...around, anyOf: [alone] };
  }

  function completed(result: Node, whole: Node, place: Place): Node {
    if (whole.type !== 'object' && !whole.properties && !(Array.isArray(whole.type) && whole.type.includes('object')))
      return result;
    if (dialect.closed) {
      if (isObject(whole.additionalProperties) || whole.additionalProperties === true)
        lose(childPlace(place, 'additionalProperties'));
      result.additionalProperties = false;
    }
    if (dialect.allRequired) {
      if (!isObject(result.properties)) result.properties = {};
      const required = new Set<unknown>(Array.isArray(whole.required) ? whole.required : []);
      for (const name of Object.keys(result.properties)) {
        if (!required.has(name)) result.properties[name] = orNull(result.properties[name]);
      }
      result.required = Object.keys(result.properties);
    } else if (Array.isArray(result.required) && isObject(result.properties)) {
      const known: Json = isObject(whole.properties) ? whole.properties : {};
      result.required = result.required.filter(
        (name) => typeof name === 'string' && (Object.hasOwn(result.properties, name) || !Object.hasOwn(known, name)),
      );
    }
    return result;
  }

  return { schema: translate(schema, references.root) ?? {}, lost: [...lost] };
}

/** Appends notes to a description; a description that is not a string is ignored. */
function described(description: Json, notes: string): string {
  return typeof description === 'string' && description !== '' ? `${description} ${notes}` : notes;
}
