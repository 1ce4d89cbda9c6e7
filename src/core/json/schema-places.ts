/** Places in a JSON schema: targets of references, and cyclic references. */

import type { Json } from './json.ts';
import type { SchemaWork } from './schema-budget.ts';

/** Place of a value in the document. */
interface Location {
  /** The value of the document there. */
  value: Json;
  key: string;
  parent?: Location;
}

/** A location, and the chain of references that led there, latest first. */
export interface Place {
  location: Location;
  from?: Place;
  /** Number of references in the chain. */
  hops: number;
}

export interface References {
  root: Place;
  /** Target of a local reference; undefined for an external or dangling one. */
  resolve(reference: string): Json;
  /** Place of the target of a reference. */
  follow(reference: string, from: Place): Place;
  /** Whether the reference at `place` leads back to a node that contains it. */
  leadsBack(reference: string, place: Place): boolean;
}

/** Maximum length of a chain of references; real schemas stay below it. */
const MAX_HOPS = 100;
/** Set operations that take the time of one budget step. */
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

  /** Distinct references in a value. */
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

  /** All direct and indirect targets of a reference. */
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
      // Deeper chains are refused as too much work: each level uses a stack frame.
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

/** The path of a place, e.g. `properties.age.multipleOf`. */
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
