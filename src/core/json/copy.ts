/** Deep copies of parsed JSON, and their comparison. */

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

/** Whether a value is equal to one of which it is a changed copy; takes least time for unchanged parts. */
function sameJson(one: Json, other: Json): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one))
    return (
      Array.isArray(other) && one.length === other.length && one.every((item, index) => sameJson(item, other[index]))
    );
  if (Array.isArray(other) || isRawNumber(one) || isRawNumber(other)) return false;
  let members = 0;
  for (const name in one) {
    if (!Object.hasOwn(other, name) || !sameMember(one, other, name)) return false;
    members++;
  }
  for (const _ in other) members--;
  return members === 0;
}

/** `sameJson` of a member that both objects have; decodes no long text. */
export function sameMember(one: Json, other: Json, name: string): boolean {
  const text = hasLongTexts(one) ? longTextAt(one, name) : undefined;
  if (text) return hasLongTexts(other) && longTextAt(other, name) === text;
  return sameJson(one[name], other[name]);
}
