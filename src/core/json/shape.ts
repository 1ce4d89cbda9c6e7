/**
 * What an upstream's JSON should look like. A value of another kind is taken out, as if it had not been sent, so that
 * decoders need not doubt every member. What a shape does not name stays as it came.
 */

import { isObject, type Json } from './json.ts';

/** Gives the value without what doesn't fit, in place; undefined when the value itself doesn't. */
export type Shape = (value: Json) => Json;

/** More tokens, seconds or offsets than there are anywhere, and few enough to be added up. */
const LARGEST_COUNT = 1e12;

export const text: Shape = (value) => (typeof value === 'string' ? value : undefined);

export const flag: Shape = (value) => (typeof value === 'boolean' ? value : undefined);

export const number: Shape = (value) => (Number.isFinite(value) ? value : undefined);

/** A natural number; some servers write large types as text. */
export const count: Shape = (value) => {
  const given = typeof value === 'string' && /^\d{1,13}$/.test(value) ? Number(value) : value;
  return Number.isInteger(given) && given >= 0 && given <= LARGEST_COUNT ? given : undefined;
};

/** A text, or a number or truth value that stands for one. */
export const word: Shape = (value) => {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return text(value);
};

export const object: Shape = (value) => (isObject(value) ? value : undefined);

/** The natural numbers below a limit. */
export function below(limit: number): Shape {
  return (value) => (Number.isInteger(value) && value >= 0 && value < limit ? value : undefined);
}

/** The first of the shapes that the value has. */
export function either(...shapes: readonly Shape[]): Shape {
  return (value) => {
    for (const shape of shapes) {
      const fitted = shape(value);
      if (fitted !== undefined) return fitted;
    }
    return undefined;
  };
}

/** A list without the items that don't fit. */
export function list(item: Shape): Shape {
  return (value) => {
    if (!Array.isArray(value)) return undefined;
    const fitted = value.map(item);
    if (fitted.every((inner, index) => inner === value[index] && inner !== undefined)) return value;
    return fitted.filter((inner) => inner !== undefined);
  };
}

/** An object whose members, where it has them, have these shapes; `null` stands for absence. Without `needed` it doesn't fit. */
export function record(members: Readonly<Record<string, Shape>>, needed?: string): Shape {
  const entries = Object.entries(members);
  return (value) => {
    if (!isObject(value)) return undefined;
    for (const [name, shape] of entries) {
      const inner = Object.hasOwn(value, name) ? value[name] : undefined;
      if (inner === undefined || inner === null) continue;
      const fitted = shape(inner);
      if (fitted === undefined) delete value[name];
      else if (fitted !== inner) value[name] = fitted;
    }
    return needed === undefined || (Object.hasOwn(value, needed) && value[needed] !== null) ? value : undefined;
  };
}
