/** JSON Merge Patch (RFC 7396). */

import { isObject, type Json } from './json.ts';

/** Applies a patch: its members replace those of the value, objects recursively; `null` removes a member. */
export function merged(value: Json, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result = new Map<string, Json>(isObject(value) ? Object.entries(value) : []);
  for (const [name, inner] of Object.entries(patch)) {
    if (inner === null) result.delete(name);
    else if (inner !== undefined) result.set(name, merged(result.get(name), inner));
  }
  // Defines each member, also one that is named `__proto__`.
  return Object.fromEntries(result);
}
