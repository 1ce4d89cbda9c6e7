/** Settings that the schema knows and the configuration does not set. Loaded when they are asked for: the schema is long. */

import type { Setting } from './query.ts';
import { ROOT, type SchemaNode } from './schema.ts';

export function unsetSettings(settings: readonly Pick<Setting, 'path'>[]): Setting[] {
  const set = new Set(settings.flatMap(({ path }) => [...startsOf(path), path]));
  return leavesOf(ROOT)
    .filter(({ path }) => !set.has(path))
    .map(({ path, about }) => ({ path, value: null, source: { from: 'not set' }, about }));
}

/** Sections around a setting. */
function startsOf(path: string): string[] {
  return [...path.matchAll(/[.[]/g)].map(({ index }) => path.slice(0, index));
}

interface Leaf {
  path: string;
  about: string;
}

/** Of what has names of one's own, such as providers, only the whole. */
function leavesOf(node: SchemaNode, start = ''): Leaf[] {
  const parts = [node, ...(node.anyOf ?? [])].flatMap(({ properties = {} }) => Object.entries(properties));
  if (parts.length === 0) return [{ path: start, about: node.description ?? '' }];
  return parts.flatMap(([name, child]) => leavesOf(child, start === '' ? name : `${start}.${name}`));
}
