/** JSON Schema for targets that accept only part of it: what the target doesn't list is rewritten, told in words or left out. */

import { GatewayError } from './errors.ts';
import { copyJson, isObject, type Json } from './json.ts';
import { orNull, withoutNullable, withoutTypeList } from './json-schema-null.ts';

/**
 * What a target accepts. A keyword outside `keep` becomes its equivalent inside it where there is one (`oneOf` as `anyOf`,
 * `const` as `enum`, `allOf` merged into its node, `definitions` as `$defs`, `nullable` as a type array and back), else
 * words in the description, else it is lost. A target that lists `nullable` is taken to reject type arrays, and one that
 * doesn't list `$ref` gets the definitions in their places.
 */
export interface SchemaDialect {
  keep: readonly string[];
  /** Keywords that the model is told about in the description instead. */
  describe?: readonly string[];
  /** Whether the value of a kept keyword is supported, e.g. a `format`; asked for each value of an `enum`. Absent: all are. */
  accepts?(keyword: string, value: Json): boolean;
  /** `additionalProperties: false` is forced on every object. */
  closed?: boolean;
  /** Every property is required; those that were optional accept null. */
  allRequired?: boolean;
  /** References that lead back to where they stand are left out. */
  acyclic?: boolean;
}

/** Where a node stands in the schema it comes from, and which places led there through references. */
interface Place {
  pointer: string;
  trail: readonly string[];
}

type Node = Record<string, Json>;

const ONE = new Set(['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames',
  'unevaluatedItems', 'unevaluatedProperties', 'contentSchema']); // biome-ignore format: a list
const LISTS = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems']);
const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);

/** Types whose names JSON Schema and JavaScript share. */
const SCALARS = new Set(['string', 'number', 'boolean']);

/** References put in their places can multiply a schema; no sane one grows beyond this. */
const MAX_NODES = 20_000;

/** A schema that says what its format is for, where the wire has no other place for that. */
export function describedSchema({ schema, description }: { schema: Json; description?: string }): Json {
  return description && isObject(schema) && !schema.description ? { description, ...schema } : schema;
}

/** The schema as `dialect` accepts it, and the paths of what was left out (e.g. `properties.age.multipleOf`). The input stays as it is. */
export function toDialect(schema: Json, dialect: SchemaDialect): { schema: Json; lost: string[] } {
  const lost = new Set<string>();
  const keeps = new Set(dialect.keep);
  let nodes = 0;

  function lose(pointer: string): undefined {
    lost.add(pointer.slice(1).split('/').map(unescaped).join('.'));
  }

  /** Undefined for a node that no value satisfies: its place goes too. */
  function translate(node: Json, place: Place): Node | undefined {
    if (++nodes > MAX_NODES)
      throw new GatewayError('invalid_request', 'A JSON schema is too large once its references are resolved.');
    if (node === false) return lose(place.pointer);
    if (!isObject(node)) return {};
    const { node: whole, places } = simplified(node, place);
    if (typeof whole.$ref === 'string') return reference(whole, place);
    const result: Node = {};
    const notes: string[] = [];
    for (const [keyword, value] of Object.entries(whole)) {
      const inside = places.get(keyword) ?? { ...place, pointer: `${place.pointer}/${escaped(keyword)}` };
      const kept = keeps.has(keyword) ? translateKeyword(keyword, value, inside) : undefined;
      if (kept !== undefined) result[keyword] = kept;
      else if (dialect.describe?.includes(keyword)) notes.push(`${keyword}: ${JSON.stringify(value)}`);
      else lose(inside.pointer);
    }
    if (notes.length > 0) result.description = described(result.description, `(${notes.join(', ')})`);
    return completed(result, whole, place);
  }

  function translateKeyword(keyword: string, value: Json, place: Place): Json {
    if (keyword === 'additionalProperties' && (dialect.closed || typeof value === 'boolean')) return value;
    if (ONE.has(keyword)) return translate(value, place);
    if (LISTS.has(keyword) && Array.isArray(value)) {
      const list = value
        .map((item, index) => translate(item, child(place, index)))
        .filter((item) => item !== undefined);
      return list.length > 0 ? list : undefined;
    }
    if (MAPS.has(keyword) && isObject(value)) {
      const entries = Object.entries(value).map(([name, item]) => [name, translate(item, child(place, name))] as const);
      return Object.fromEntries(entries.filter(([, item]) => item !== undefined));
    }
    if (keyword === 'enum' && Array.isArray(value)) {
      const values = value.filter((item) => dialect.accepts?.('enum', item) ?? true);
      return values.length > 0 ? copyJson(values) : undefined;
    }
    if (dialect.accepts && !dialect.accepts(keyword, value)) return undefined;
    return copyJson(value);
  }

  /** The node without keywords that have an equivalent in the dialect, and where those that moved come from. */
  function simplified(node: Node, place: Place): { node: Node; places: Map<string, Place> } {
    const places = new Map<string, Place>();
    let result = { ...node };
    if (Array.isArray(result.allOf) && !keeps.has('allOf')) result = merged(result, place, places);
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
    places.set(to, child(place, from));
  }

  /** The node with the branches of its `allOf` merged in: properties and required names add up, of other keywords the first wins. */
  function merged(node: Node, place: Place, places: Map<string, Place>): Node {
    const { allOf, ...result } = node;
    for (const [index, branch] of allOf.entries()) {
      const at = child(child(place, 'allOf'), index);
      const source = mergeable(branch, result, allOf.length, at);
      if (!source) continue;
      for (const [keyword, value] of Object.entries(source.node)) {
        const from = child(source.place, keyword);
        if (!(keyword in result)) {
          result[keyword] = value;
          places.set(keyword, from);
        } else if (MAPS.has(keyword)) result[keyword] = { ...value, ...result[keyword] };
        else if (keyword === 'required' && Array.isArray(value) && Array.isArray(result.required))
          result.required = [...new Set([...result.required, ...value])];
        else if (JSON.stringify(result[keyword]) !== JSON.stringify(value) && !ANNOTATIONS.has(keyword))
          lose(from.pointer);
      }
    }
    return result;
  }

  function mergeable(branch: Json, node: Node, count: number, at: Place): { node: Node; place: Place } | undefined {
    if (!isObject(branch)) return undefined;
    const alone = count === 1 && Object.keys(node).every((keyword) => ANNOTATIONS.has(keyword));
    if (typeof branch.$ref !== 'string' || (alone && keeps.has('$ref'))) return { node: branch, place: at };
    const target = resolve(branch.$ref);
    if (!isObject(target) || leadsBack(branch.$ref, at)) return lose(at.pointer);
    const inside = follow(branch.$ref, at);
    return { node: Array.isArray(target.allOf) ? merged(target, inside, new Map()) : target, place: inside };
  }

  /** A reference stands alone in its node: what describes it moves around it, and only `$defs` and the like stay beside it. */
  function reference(node: Node, place: Place): Node | undefined {
    const { $ref, ...beside } = node;
    const cyclic = (dialect.acyclic || !keeps.has('$ref')) && leadsBack($ref, place);
    if (cyclic || (!keeps.has('$ref') && resolve($ref) === undefined)) {
      lose(`${place.pointer}/$ref`);
      return translate(beside, place);
    }
    if (!keeps.has('$ref')) {
      const target = translate(resolve($ref), follow($ref, place));
      return target && { ...target, ...(translate(beside, place) ?? {}) };
    }
    const own = Object.fromEntries(
      Object.entries(beside).filter(([keyword]) => keyword.startsWith('$') || ANNOTATIONS.has(keyword)),
    );
    for (const keyword of Object.keys(beside)) if (!(keyword in own)) lose(`${place.pointer}/${escaped(keyword)}`);
    const around = translate(own, place) ?? {};
    const alone = { $ref: $ref.replace('#/definitions/', keeps.has('definitions') ? '#/definitions/' : '#/$defs/') };
    const bare = Object.keys(around).every((keyword) => keyword.startsWith('$'));
    return bare || !keeps.has('anyOf') ? { ...around, ...alone } : { ...around, anyOf: [alone] };
  }

  function completed(result: Node, whole: Node, place: Place): Node {
    if (whole.type !== 'object' && !whole.properties && !(Array.isArray(whole.type) && whole.type.includes('object')))
      return result;
    if (dialect.closed) {
      if (isObject(whole.additionalProperties) || whole.additionalProperties === true)
        lose(`${place.pointer}/additionalProperties`);
      result.additionalProperties = false;
    }
    if (dialect.allRequired) {
      if (!isObject(result.properties)) result.properties = {};
      const required: unknown[] = Array.isArray(whole.required) ? whole.required : [];
      for (const name of Object.keys(result.properties)) {
        if (!required.includes(name)) result.properties[name] = orNull(result.properties[name]);
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

  function resolve(reference: string): Json {
    if (!reference.startsWith('#')) return undefined;
    const names = reference.split('/').slice(1);
    return names.reduce((node: Json, name) => {
      const key = unescaped(name);
      return typeof node === 'object' && node !== null && Object.hasOwn(node, key) ? node[key] : undefined;
    }, schema);
  }

  /** Whether following the reference from `place` comes back to a node that holds it. */
  function leadsBack(reference: string, place: Place): boolean {
    const held = [place.pointer, ...place.trail];
    const seen = new Set<string>();
    const open = [reference];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const pointer = next.slice(1);
      if (held.some((holder) => `${holder}/`.startsWith(`${pointer}/`))) return true;
      if (seen.has(next)) continue;
      seen.add(next);
      open.push(...referencesIn(resolve(next)));
    }
    return false;
  }

  return { schema: translate(schema, { pointer: '', trail: [] }) ?? {}, lost: [...lost] };
}

const ANNOTATIONS = new Set([
  'title',
  'description',
  'default',
  'examples',
  'example',
  'deprecated',
  'readOnly',
  'writeOnly',
]);

function child(place: Place, key: string | number): Place {
  return { ...place, pointer: `${place.pointer}/${escaped(String(key))}` };
}

function follow(reference: string, place: Place): Place {
  return { pointer: reference.slice(1), trail: [...place.trail, place.pointer] };
}

function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function unescaped(name: string): string {
  return name.replaceAll('~1', '/').replaceAll('~0', '~');
}

function* referencesIn(node: Json): Generator<string> {
  if (typeof node !== 'object' || node === null) return;
  if (typeof node.$ref === 'string') yield node.$ref;
  for (const value of Object.values(node)) yield* referencesIn(value);
}

/** A description with notes at its end; one that is no text is none. */
function described(description: Json, notes: string): string {
  return typeof description === 'string' && description !== '' ? `${description} ${notes}` : notes;
}
