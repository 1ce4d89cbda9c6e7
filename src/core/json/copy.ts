/** Deep copies of parsed JSON. */

import { isRawNumber, type Json } from './json.ts';
import { hasLongTexts, longTextAt } from './long-text.ts';

/** Deep copy; `structuredClone` would turn raw numbers into ordinary objects. */
export function copyJson(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyJson);
  if (isRawNumber(value)) return value;
  const copy: Record<string, Json> = {};
  const mayHold = hasLongTexts(value);
  for (const name in value) {
    const text = mayHold ? longTextAt(value, name) : undefined;
    if (text) {
      text.addTo(copy, name);
      continue;
    }
    const inner = copyJson(value[name]);
    if (name === '__proto__')
      Object.defineProperty(copy, name, { value: inner, enumerable: true, configurable: true, writable: true });
    else copy[name] = inner;
  }
  return copy;
}
