/** Places in a JSON schema, what references lead to, and which references lead back to where they stand. */

import type { Json } from './json.ts';
import type { SchemaWork } from './schema-budget.ts';

/** Where a value stands in the document. */
interface Location {
  /** What the document has there. */
  value: Json;
  key: string;
  parent?: Location;
}

/** A location, and the places of the references that led there, the last first. */
export interface Place {
  location: Location;
  from?: Place;
  /** How many references led there. */
  hops: number;
}

export interface References {
  root: Place;
  /** What a local reference leads to; undefined for a foreign one and for nowhere. */
  resolve(reference: string): Json;
  /** The place that a reference leads to from another. */
  follow(reference: string, from: Place): Place;
  /** Whether following the reference from `place` comes back to a node that holds it. */
  leadsBack(reference: string, place: Place): boolean;
}

/** Definitions that refer to each other are nested less deeply than this. */
const MAX_HOPS = 100;
/** Members of a set that are added or asked for in the time of one step. */
const MEMBERS_PER_STEP = 16;
const CHARACTERS_PER_STEP = 64;

export function createReferences(document: Json, work: SchemaWork): References {
  const locations = new Map<string, Location | undefined>();
  const inside = new Map<object, string[]>();
  const reachable = new Map<string, Set<object>>();
  const top: Location = { value: document, key: '' };

  function locate(reference: string): Location | undefined {
    if (locations.has(reference)) return locations.get(reference);
    work.spend(1 + Math.ceil(reference.length / CHARACTERS_PER_STEP));
    const found = reference.startsWith('#') ? walk(reference.split('/').slice(1)) : undefined;
    locations.set(reference, found);
    return found;
  }

  function walk(names: readonly string[]): Location | undefined {
    let location = top;
    work.spend(names.length);
    for (const name of names) {
      const { value } = location;
      const key = unescaped(name);
      if (!isHolder(value) || !Object.hasOwn(value, key)) return undefined;
      location = { value: value[key], key, parent: location };
    }
    return location;
  }

  /** All references in a value, each once. */
  function referencesIn(value: object): string[] {
    const known = inside.get(value);
    if (known) return known;
    const found = new Set<string>();
    const open: Json[] = [value];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { $ref } = next;
      if (typeof $ref === 'string') found.add($ref);
      const children = Object.values(next).filter(isHolder);
      work.spend(1 + Math.ceil(Object.keys(next).length / MEMBERS_PER_STEP));
      for (const child of children) open.push(child);
    }
    const list = [...found];
    inside.set(value, list);
    return list;
  }

  /** Everything that a reference leads to, directly and through others. */
  function targetsOf(reference: string): Set<object> {
    const known = reachable.get(reference);
    if (known) return known;
    const targets = new Set<object>();
    const open = [reference];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const target = locate(next)?.value;
      work.spend(1 / MEMBERS_PER_STEP);
      if (!isHolder(target) || targets.has(target)) continue;
      targets.add(target);
      for (const inner of referencesIn(target)) open.push(inner);
    }
    reachable.set(reference, targets);
    return targets;
  }

  function leadsBack(reference: string, place: Place): boolean {
    const targets = targetsOf(reference);
    let visited = 0;
    let found = false;
    for (let from: Place | undefined = place; from && !found; from = from.from) {
      for (let holder: Location | undefined = from.location; holder && !found; holder = holder.parent) {
        visited++;
        found = targets.has(holder.value);
      }
    }
    work.spend(1 + Math.ceil(visited / MEMBERS_PER_STEP));
    return found;
  }

  return {
    root: { location: top, hops: 0 },
    resolve: (reference) => locate(reference)?.value,
    follow(reference, from) {
      // Deeper chains are refused like too much work: each level holds a frame of the stack.
      if (from.hops >= MAX_HOPS) work.spend(Number.POSITIVE_INFINITY);
      return { location: locate(reference) ?? { value: undefined, key: reference }, from, hops: from.hops + 1 };
    },
    leadsBack,
  };
}

export function childPlace({ location, from, hops }: Place, key: string | number): Place {
  const name = String(key);
  const { value } = location;
  const inner = isHolder(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return { location: { value: inner, key: name, parent: location }, ...(from && { from }), hops };
}

/** The names on the way to a place, e.g. `properties.age.multipleOf`. */
export function pathOf({ location }: Place, work: SchemaWork): string {
  const names: string[] = [];
  for (let at: Location | undefined = location; at?.parent; at = at.parent) {
    names.push(at.key);
    work.write(at.key.length);
  }
  work.spend(Math.ceil(names.length / MEMBERS_PER_STEP));
  return names.reverse().join('.');
}

// biome-ignore lint/suspicious/noExplicitAny: a holder of wire data.
function isHolder(value: unknown): value is Record<string, any> {
  return typeof value === 'object' && value !== null;
}

function unescaped(name: string): string {
  return name.replaceAll('~1', '/').replaceAll('~0', '~');
}
