/**
 * Shapes: expected types of an upstream's JSON. A value of another type is removed, as if it had not been sent, so that
 * decoders need no type checks. Members that a shape does not name are unchanged.
 */

import { isObject, type Json } from './json.ts';

/** Removes members that don't match, in place; undefined if the value itself doesn't match. */
export type Shape = (value: Json) => Json;

/** Maximum of a count: above all real tokens, seconds and offsets, and safe to add up. */
const MAX_COUNT = 1e12;

export const text: Shape = (value) => (typeof value === 'string' ? value : undefined);

export const flag: Shape = (value) => (typeof value === 'boolean' ? value : undefined);

export const number: Shape = (value) => (Number.isFinite(value) ? value : undefined);

/** A natural number; some servers write large types as text. */
export const count: Shape = (value) => {
  const number = typeof value === 'string' && /^\d{1,13}$/.test(value) ? Number(value) : value;
  return Number.isInteger(number) && number >= 0 && number <= MAX_COUNT ? number : undefined;
};

/** A string; numbers and booleans are converted. */
export const word: Shape = (value) => {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return text(value);
};

export const object: Shape = (value) => (isObject(value) ? value : undefined);

/** The natural numbers below a limit. */
export function below(limit: number): Shape {
  return (value) => (Number.isInteger(value) && value >= 0 && value < limit ? value : undefined);
}

/** The first shape that matches. */
export function either(...shapes: readonly Shape[]): Shape {
  return (value) => {
    for (const shape of shapes) {
      const fitted = shape(value);
      if (fitted !== undefined) return fitted;
    }
    return undefined;
  };
}

/** A list; items that don't match are removed. */
export function list(item: Shape): Shape {
  return (value) => {
    if (!Array.isArray(value)) return undefined;
    const fitted = value.map(item);
    if (fitted.every((inner, index) => inner === value[index] && inner !== undefined)) return value;
    return fitted.filter((inner) => inner !== undefined);
  };
}

/** An object with optional members of these shapes; `null` counts as absent. It doesn't match without the members in `needed`. */
export function record(members: Readonly<Record<string, Shape>>, needed?: string): Shape {
  const shapes = new Map(Object.entries(members));
  return (value) => {
    if (!isObject(value)) return undefined;
    // A value has fewer members than a shape, in most cases.
    for (const name in value) {
      const shape = shapes.get(name);
      const inner = value[name];
      if (!shape || inner === undefined || inner === null) continue;
      const fitted = shape(inner);
      if (fitted === undefined) delete value[name];
      else if (fitted !== inner) value[name] = fitted;
    }
    return needed === undefined || (Object.hasOwn(value, needed) && value[needed] !== null) ? value : undefined;
  };
}
