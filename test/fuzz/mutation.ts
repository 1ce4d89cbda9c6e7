/** Makes broken wires out of good ones: a seed and a list of edits, both of which fast-check draws, shrinks and repeats. */

import fc from 'fast-check';
import { isRawNumber, type Json } from '../../src/core/json/json.ts';
import { wrap } from '../../src/core/opaque.ts';

type Kind = 'replace' | 'remove' | 'duplicate' | 'transplant' | 'rename' | 'nest' | 'repeat';

/** One change at a place, counted over all values of the wire. */
export interface Edit {
  kind: Kind;
  at: number;
  /** Another place, for edits that need two. */
  other: number;
  /** Which of `JUNK` or `NAMES`. */
  pick: number;
}

const { rawJSON } = JSON as unknown as { rawJSON(text: string): Json };

const STRINGS = [
  ...['', ' ', 'x', '0', '-1', 'null', 'true', '\0', '\ud800', '\u2028', '__proto__', 'constructor', 'toString'],
  ...['[DONE]', 'error', 'stop', 'text', 'user', 'assistant', 'system', 'tool', 'function', 'model', 'auto', 'any'],
  ...[
    'data:',
    'data:,',
    'data:%zz,%zz',
    'data:image/png;base64,',
    'data:;base64,AAAA',
    'https://',
    'file:///etc/passwd',
  ],
  ...['{', '{}', '{"a":1}', '{"a":', '[1]', '"', '\n', '\r\n\r\n', 'data: {}\n\n', 'x'.repeat(3000), '🦊'.repeat(50)],
  wrap({ kind: 'signature', value: 'own', origin: 'upstream' }),
  wrap({ kind: 'redacted', value: 'foreign', origin: 'other' }),
  `${wrap({ kind: 'encrypted', value: '{}', origin: 'upstream' }).slice(0, -3)}`,
];

const DEEP: Json = JSON.parse(`${'[{"a":'.repeat(40)}1${'}]'.repeat(40)}`);

/** What stands where something else was expected. */
export const JUNK: readonly Json[] = [
  ...[null, true, false, 0, 1, -1, 1.5, 1e21, -1e308, 2 ** 53, 1e-7, 4294967295, 200, 429],
  ...[rawJSON('1e400'), rawJSON('123456789012345678901234567890'), rawJSON('0.12345678901234567890')],
  ...[[], {}, [null], [[]], [{}], [1], [''], { type: 'text' }, { type: null }, { text: 1 }, { length: 5 }, DEEP],
  ...[
    { __proto__: null, toString: 1 },
    JSON.parse('{"__proto__":{"polluted":true}}'),
    { constructor: { prototype: {} } },
  ],
  ...STRINGS,
];

/** Members get each other's names, and names that objects have by birth. */
const NAMES = ['__proto__', 'constructor', 'toString', 'type', 'index', 'id', 'error', 'text', 'length', '0', ''];

const place = fc.nat({ max: 1 << 20 });

export const edits: fc.Arbitrary<Edit[]> = fc.array(
  fc.record<Edit>({
    kind: fc.oneof(
      { weight: 6, arbitrary: fc.constant('replace' as const) },
      fc.constantFrom<Kind[]>('remove', 'duplicate', 'transplant', 'rename', 'nest', 'repeat'),
    ),
    at: place,
    other: place,
    pick: fc.nat({ max: JUNK.length * NAMES.length - 1 }),
  }),
  { minLength: 1, maxLength: 5 },
);

interface Place {
  holder: Json;
  key: string | number;
}

/** A copy of the seed with every edit made; the seed stays as it is. */
export function edited(seed: Json, changes: readonly Edit[]): Json {
  const root = { value: copy(seed) };
  for (const change of changes) apply(root, change);
  return root.value ?? null;
}

function placesIn(root: { value: Json }): Place[] {
  const found: Place[] = [];
  const visit = (holder: Json): void => {
    if (holder === null || typeof holder !== 'object' || isRawNumber(holder) || found.length > 5000) return;
    for (const key of Object.keys(holder)) {
      found.push({ holder, key: Array.isArray(holder) ? Number(key) : key });
      visit(holder[key]);
    }
  };
  visit(root);
  return found;
}

function apply(root: { value: Json }, { kind, at, other, pick }: Edit): void {
  const places = placesIn(root);
  const { holder, key } = places[at % places.length] as Place;
  const second = places[other % places.length] as Place;
  const list = Array.isArray(holder) ? holder : undefined;
  const value = holder[key];
  switch (kind) {
    case 'replace':
      set(holder, key, JUNK[pick % JUNK.length]);
      break;
    case 'remove':
      if (list) list.splice(Number(key), 1);
      else if (holder !== root) delete holder[key];
      break;
    case 'duplicate':
      list?.splice(Number(key), 0, copy(value));
      break;
    case 'transplant':
      set(holder, key, second.holder[second.key]);
      break;
    case 'rename':
      if (list || holder === root) break;
      delete holder[key];
      set(holder, NAMES[pick % NAMES.length] as string, value);
      break;
    case 'nest':
      set(holder, key, pick % 2 === 0 ? [value] : { value });
      break;
    case 'repeat':
      if (list && list.length < 50) list.push(...Array.from({ length: 40 }, () => copy(value)));
  }
}

/** `__proto__` becomes a member like any other, as `JSON.parse` makes it. */
function set(holder: Json, key: string | number, value: Json): void {
  Object.defineProperty(holder, key, { value: copy(value), writable: true, enumerable: true, configurable: true });
}

function copy(value: Json): Json {
  if (value === null || typeof value !== 'object' || isRawNumber(value)) return value;
  if (Array.isArray(value)) return value.map(copy);
  const twin = {};
  for (const [name, inner] of Object.entries(value)) set(twin, name, inner);
  return twin;
}

/** A frame of a stream, and whether its event has a name. */
export interface Frame {
  event?: string;
  data: string;
}

type Move = 'drop' | 'duplicate' | 'swap' | 'truncate' | 'cut' | 'junk' | 'edit' | 'name';

export interface Rearrangement {
  move: Move;
  at: number;
  other: number;
  pick: number;
  changes: Edit[];
}

export const rearrangements: fc.Arbitrary<Rearrangement[]> = fc.array(
  fc.record<Rearrangement>({
    move: fc.oneof(
      { weight: 5, arbitrary: fc.constant('edit' as const) },
      fc.constantFrom<Move[]>('drop', 'duplicate', 'swap', 'truncate', 'cut', 'junk', 'name'),
    ),
    at: place,
    other: place,
    pick: fc.nat({ max: JUNK.length - 1 }),
    changes: edits,
  }),
  { minLength: 1, maxLength: 4 },
);

/** A stream with frames dropped, doubled, moved, cut off and edited. */
export function rearranged(seed: readonly Frame[], moves: readonly Rearrangement[]): Frame[] {
  const frames = [...seed];
  for (const { move, at, other, pick, changes } of moves) {
    if (frames.length === 0) break;
    const index = at % frames.length;
    const frame = frames[index] as Frame;
    switch (move) {
      case 'drop':
        frames.splice(index, 1);
        break;
      case 'duplicate':
        frames.splice(other % frames.length, 0, frame);
        break;
      case 'swap': {
        const second = other % frames.length;
        [frames[index], frames[second]] = [frames[second] as Frame, frame];
        break;
      }
      case 'truncate':
        frames.length = index;
        break;
      case 'cut':
        frames[index] = { ...frame, data: frame.data.slice(0, other % (frame.data.length + 1)) };
        break;
      case 'junk':
        frames.splice(index, 0, { data: JSON.stringify(JUNK[pick % JUNK.length]) });
        break;
      case 'name':
        frames[index] = { ...frame, event: NAMES[pick % NAMES.length] };
        break;
      case 'edit':
        frames[index] = { ...frame, data: editedText(frame.data, changes) };
    }
  }
  return frames;
}

function editedText(text: string, changes: readonly Edit[]): string {
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  return JSON.stringify(edited(value, changes));
}

export function bytesOf(frames: readonly Frame[]): Buffer {
  const texts = frames.map(({ event, data }) => {
    const name = event === undefined ? '' : `event: ${event}\n`;
    return `${name}${data
      .split('\n')
      .map((line) => `data: ${line}\n`)
      .join('')}\n`;
  });
  return Buffer.from(texts.join(''));
}
