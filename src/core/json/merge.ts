/** JSON Merge Patch (RFC 7396). */

import { isObject, type Json } from './json.ts';

/** Applies a patch: its members replace those of the value, objects recursively; `null` removes a member. */
export function merged(value: Json, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result: Record<string, Json> = isObject(value) ? { ...value } : {};
  for (const [name, inner] of Object.entries(patch)) {
    if (inner === null) delete result[name];
    else if (inner !== undefined) result[name] = merged(result[name], inner);
  }
  return result;
}
