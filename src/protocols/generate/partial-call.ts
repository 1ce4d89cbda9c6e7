/** Partial call: assembles arguments from JSON paths with values and continued strings. */

import type { CallPart } from '../../core/chat.ts';
import { isObject, type Json } from '../../core/json/json.ts';

export interface PartialCall {
  readonly call: Omit<CallPart, 'args'>;
  add(partialArgs: Json): void;
  /** The arguments so far, as JSON text. */
  args(): string;
}

export function createPartialCall(call: Omit<CallPart, 'args'>): PartialCall {
  const args: Record<string, Json> = {};
  let growing: string | undefined;

  return {
    call,
    add(partialArgs) {
      for (const piece of partialArgs ?? []) {
        const path: string = piece.jsonPath ?? '';
        set(args, pathOf(path), pieceValue(piece), growing === path);
        growing = piece.willContinue ? path : undefined;
      }
    },
    args: () => JSON.stringify(args),
  };
}

function pieceValue(piece: Json): Json {
  if ('stringValue' in piece) return piece.stringValue;
  if ('numberValue' in piece) return piece.numberValue;
  if ('boolValue' in piece) return piece.boolValue;
  return null;
}

const STEP = /\.([^.[\]]+)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|\['((?:[^'\\]|\\.)*)'\]/g;

/** `$.items[0].name` and `$['odd name']` as keys; indexes become numbers. */
function pathOf(path: string): (string | number)[] {
  return [...path.matchAll(STEP)].map(([, name, index, double, single]) =>
    index === undefined ? (name ?? double ?? single ?? '') : Number(index),
  );
}

/** Arrays are filled in order; an index beyond the next one is an upstream error. */
function fits(node: Json, key: string | number): boolean {
  return Array.isArray(node) ? typeof key === 'number' && key <= node.length : key !== '__proto__';
}

function set(root: Record<string, Json>, path: (string | number)[], value: Json, append: boolean): void {
  let node: Json = root;
  for (const [position, key] of path.entries()) {
    if (!fits(node, key)) return;
    const next = path[position + 1];
    const inner = node[key];
    if (next === undefined) {
      node[key] = append && typeof inner === 'string' ? inner + value : value;
      return;
    }
    const held = isObject(inner) || Array.isArray(inner) ? inner : typeof next === 'number' ? [] : {};
    if (!fits(held, next)) return;
    node[key] = held;
    node = held;
  }
}
