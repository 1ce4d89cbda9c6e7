/** Protobuf JSON spellings: converts `snake_case` keys to `camelCase`. */

import { isObject, isRawNumber, type Json } from '../../core/json/json.ts';

/** Members with free-form content: their keys are data, not fields. */
const FREE_FORM = new Set([
  'args',
  'customMetadata',
  'labels',
  'mcpServers',
  'parameters',
  'parametersJsonSchema',
  'partMetadata',
  'response',
  'responseJsonSchema',
  'responseSchema',
]);

/** A copy with camelCase field names; where both spellings are present, camelCase wins. */
export function camelCased(value: Json): Json {
  if (Array.isArray(value)) return value.map(camelCased);
  if (!isObject(value) || isRawNumber(value)) return value;
  const result: Record<string, Json> = {};
  for (const [key, item] of Object.entries(value)) {
    const name = camelCase(key);
    if (name !== key && name in value) continue;
    result[name] = FREE_FORM.has(name) ? item : camelCased(item);
  }
  return result;
}

export function camelCase(key: string): string {
  return key.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** A repeated field may be written as a single value. */
export function list(value: Json): Json[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

/** Returns both spellings of a name: Gemini's camel case, and protobuf's snake case. */
export function spellings(name: string): string[] {
  return [name, name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
}
