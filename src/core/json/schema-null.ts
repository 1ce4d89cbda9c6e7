/** Nullability in JSON Schema: conversion between `type: null` and `nullable`. */

import { isObject, type Json } from './json.ts';

type Node = Record<string, Json>;

/** Replaces `nullable` by a type that includes null. */
export function withoutNullable(node: Node): Node {
  const { nullable, ...rest } = node;
  if (nullable === undefined) return node;
  return nullable === true ? orNull(rest) : rest;
}

/** Replaces a list of types by `nullable` and, for several types, `anyOf`. */
export function withoutTypeList(node: Node): Node {
  if (!Array.isArray(node.type)) return node;
  const { type, ...rest } = node;
  const types = type.filter((name: unknown) => name !== 'null');
  const nullable = types.length < type.length ? { nullable: true } : {};
  if (types.length === 1) return { type: types[0], ...rest, ...nullable };
  return { anyOf: types.map((name: string) => ({ type: name })), ...rest, ...nullable };
}

/** The schema, extended to accept null; values that are not schemas are unchanged. */
export function orNull(node: Json): Json {
  if (!isObject(node)) return node;
  const { type } = node;
  if (typeof type === 'string' && !('const' in node)) {
    if (type === 'null') return node;
    return { ...node, type: [type, 'null'], ...(Array.isArray(node.enum) && { enum: [...node.enum, null] }) };
  }
  if (Array.isArray(type) && !('const' in node))
    return type.includes('null') ? node : { ...node, type: [...type, 'null'] };
  if (Array.isArray(node.anyOf)) {
    const nullable = node.anyOf.some((branch: Json) => branch?.type === 'null');
    return nullable ? node : { ...node, anyOf: [...node.anyOf, { type: 'null' }] };
  }
  if (Array.isArray(node.enum)) return node.enum.includes(null) ? node : { ...node, enum: [...node.enum, null] };
  return '$ref' in node || 'const' in node ? { anyOf: [node, { type: 'null' }] } : node;
}
