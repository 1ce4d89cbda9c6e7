/** A check of JSON against the shapes of Open Responses, which `import.ts` takes from the specification. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Json } from '../../../src/core/json/json.ts';

/** `@Name` refers to another shape, other words are types of JSON. */
export type Shape =
  | string
  | { values: string[] }
  | { list: Shape }
  | { either: Shape[] }
  | { members: Record<string, Shape>; required: string[] };

interface Shapes {
  source: { specification: string; sha256: string };
  /** Shapes of events. */
  events: string[];
  shapes: Record<string, Shape>;
}

const { events, shapes }: Shapes = JSON.parse(readFileSync(join(import.meta.dirname, 'shapes.json'), 'utf8'));

/** Names of the shapes of events by the type of the event. */
const SHAPE_OF_EVENT = new Map(events.flatMap((name) => typesOf(`@${name}`).map((type) => [type, name])));

/** All that is wrong with a value, each with its path. */
export function problemsOf(value: Json, name: string): string[] {
  return [...find(value, `@${name}`, name)];
}

export function problemsOfEvent(event: Json): string[] {
  const name = SHAPE_OF_EVENT.get(event.type);
  return name === undefined ? [`${event.type}: no event of the specification`] : problemsOf(event, name);
}

function* find(value: Json, shape: Shape, path: string): Generator<string> {
  const known = resolve(shape);
  if (typeof known === 'string') {
    if (!isOfType(value, known)) yield `${path}: ${JSON.stringify(value)} is not ${known}`;
  } else if ('values' in known) {
    if (!known.values.includes(value)) yield `${path}: ${JSON.stringify(value)} is none of ${known.values.join(', ')}`;
  } else if ('list' in known) {
    if (!Array.isArray(value)) yield `${path} is not a list`;
    else for (const [index, item] of value.entries()) yield* find(item, known.list, `${path}[${index}]`);
  } else if ('either' in known) yield* findEither(value, known.either, path);
  else yield* findMembers(value, known, path);
}

/** The problems with the choice of the value's `type`; of the last choice if none has it. */
function findEither(value: Json, choices: Shape[], path: string): Generator<string> {
  const fitting = choices.find((choice) => typesOf(choice).includes(value?.type));
  if (fitting !== undefined) return find(value, fitting, path);
  const results = choices.map((choice) => [...find(value, choice, path)]);
  return (results.find((problems) => problems.length === 0) ?? results.at(-1) ?? []).values() as Generator<string>;
}

function* findMembers(
  value: Json,
  { members, required }: { members: Record<string, Shape>; required: string[] },
  path: string,
): Generator<string> {
  if (!isOfType(value, 'object')) {
    yield `${path} is not an object`;
    return;
  }
  for (const name of required) if (value[name] === undefined) yield `${path}.${name} is missing`;
  for (const [name, member] of Object.entries(members))
    if (value[name] !== undefined) yield* find(value[name], member, `${path}.${name}`);
}

function resolve(shape: Shape): Exclude<Shape, `@${string}`> {
  let known = shape;
  while (typeof known === 'string' && known.startsWith('@')) known = shapes[known.slice(1)] as Shape;
  return known;
}

/** Values of the member `type` of an object's shape. */
function typesOf(shape: Shape): string[] {
  const known = resolve(shape);
  if (typeof known === 'string' || !('members' in known)) return [];
  const type = resolve(known.members.type ?? 'anything');
  return typeof type === 'object' && 'values' in type ? type.values : [];
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'anything':
      return true;
    case 'null':
      return value === null;
    case 'integer':
      return Number.isSafeInteger(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    default:
      return typeof value === type;
  }
}
