/**
 * Relaxed schema: a schema without value ranges, for relayed requests whose values the upstream checks. The
 * structure with its `type` and `role` tags, string lengths, and the ranges of members at `keptPaths` stay.
 */

import type { TSchema } from 'typebox';
import type { Json } from './json/json.ts';

export function relaxed(schema: TSchema, keptPaths: readonly string[] = []): TSchema {
  return relax(schema, '', new Set(keptPaths)) as TSchema;
}

const TAGS = ['type', 'role'];

function relax(schema: Json, path: string, keptPaths: ReadonlySet<string>): Json {
  if (keptPaths.has(path)) return schema;
  if (schema.anyOf) return { anyOf: schema.anyOf.map((branch: Json) => relax(branch, path, keptPaths)) };
  if (schema.enum || typeof schema.const === 'string') return { type: 'string' };
  switch (schema.type) {
    case 'object':
      return relaxObject(schema, path, keptPaths);
    case 'array':
      return { type: 'array', minItems: schema.minItems ?? 0, items: relax(schema.items, path, keptPaths) };
    case 'integer':
    case 'number':
      return { type: 'number' };
    case 'string':
      return { type: 'string', ...(schema.maxLength !== undefined && { maxLength: schema.maxLength }) };
    default:
      return schema;
  }
}

function relaxObject({ properties = {}, required = [] }: Json, path: string, keptPaths: ReadonlySet<string>): Json {
  const inside = (name: string) => (path === '' ? name : `${path}.${name}`);
  const entries = Object.entries<Json>(properties).map(([name, value]) => [
    name,
    TAGS.includes(name) ? value : relax(value, inside(name), keptPaths),
  ]);
  return { type: 'object', properties: Object.fromEntries(entries), required };
}
