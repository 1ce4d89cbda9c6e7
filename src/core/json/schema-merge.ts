/** `allOf` in JSON Schema, merged into the node that holds it. */

import { isObject, type Json } from './json.ts';
import { isEqualJson, type SchemaWork } from './schema-budget.ts';
import { childPlace, type Place, type References } from './schema-places.ts';

export type Node = Record<string, Json>;

/** Keywords that hold schemas by name. */
export const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);

/** Annotation keywords, which do not restrict a node. */
export const ANNOTATIONS = new Set([
  'title',
  'description',
  'default',
  'examples',
  'example',
  'deprecated',
  'readOnly',
  'writeOnly',
]);

export interface MergeOptions {
  references: References;
  work: SchemaWork;
  /** Whether a reference without sibling keywords may stay. */
  keepsReferences: boolean;
  /** Records a keyword that the merged node cannot express. */
  lose(place: Place): undefined;
}

/** The node with the branches of its `allOf` merged in; notes in `places` where keywords come from that were not its own. */
export type SchemaMerge = (node: Node, place: Place, places: Map<string, Place>) => Node;

export function createMerge({ references, work, keepsReferences, lose }: MergeOptions): SchemaMerge {
  const merged = new Map<object, Node>();

  /** Properties and required names add up, of other keywords the first wins. */
  function merge(node: Node, place: Place, places: Map<string, Place>): Node {
    const { allOf, ...result } = node;
    const maps = new Map<string, Node[]>();
    const required: Json[][] = [];
    const at = childPlace(place, 'allOf');
    for (const [index, branch] of allOf.entries()) {
      work.spend(1);
      const source = sourceOf(branch, result, allOf.length, childPlace(at, index));
      for (const [keyword, value] of Object.entries(source?.node ?? {})) {
        work.spend(1);
        const own = result[keyword];
        if (!(keyword in result)) {
          result[keyword] = value;
          places.set(keyword, childPlace(source?.place ?? place, keyword));
        } else if (own === value) continue;
        else if (MAPS.has(keyword) && isObject(value) && isObject(own)) {
          work.spend(Object.keys(value).length);
          const parts = maps.get(keyword) ?? [];
          parts.push(value);
          maps.set(keyword, parts);
        } else if (keyword === 'required' && Array.isArray(value) && Array.isArray(own)) {
          work.spend(value.length);
          required.push(value);
        } else if (!ANNOTATIONS.has(keyword) && !isEqualJson(own, value, work))
          lose(childPlace(source?.place ?? place, keyword));
      }
    }
    for (const [keyword, parts] of maps) result[keyword] = joined(result[keyword], parts);
    if (required.length > 0) result.required = [...new Set([result.required, ...required].flat())];
    return result;
  }

  /** The members of all; for a repeated name the first wins; members of later branches come first. */
  function joined(own: Node, parts: readonly Node[]): Node {
    work.spend(Object.keys(own).length);
    return Object.fromEntries(new Map([...parts.toReversed(), own].flatMap((part) => Object.entries(part))));
  }

  /** The keywords of a branch with its reference resolved; undefined for an empty or endless branch. */
  function sourceOf(branch: Json, node: Node, count: number, at: Place): { node: Node; place: Place } | undefined {
    if (!isObject(branch)) return undefined;
    const { $ref } = branch;
    const alone = count === 1 && Object.keys(node).every((keyword) => ANNOTATIONS.has(keyword));
    if (typeof $ref !== 'string' || (alone && keepsReferences)) return { node: branch, place: at };
    const target = references.resolve($ref);
    if (!isObject(target) || references.leadsBack($ref, at)) return lose(at);
    const inside = references.follow($ref, at);
    return { node: Array.isArray(target.allOf) ? mergedTarget(target, inside) : target, place: inside };
  }

  /** A target outside any cycle merges the same at every reference. */
  function mergedTarget(target: Node, place: Place): Node {
    const known = merged.get(target);
    if (known) return known;
    const result = merge(target, place, new Map());
    merged.set(target, result);
    return result;
  }

  return merge;
}
