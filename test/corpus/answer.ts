/** Answers independent of their protocol, and their comparison. */

import { isObject, isRawNumber, type Json } from '../../src/core/json/json.ts';

export type End =
  | 'stop'
  | 'stop-sequence'
  | 'length'
  | 'context-full'
  | 'calls'
  | 'filtered'
  | 'refused'
  | 'blocked'
  | 'paused'
  | 'continuation'
  | 'abnormal'
  | 'none';

export interface Choice {
  text: string;
  refusal: string;
  reasoning: string;
  /** Name and arguments, the latter in canonical spelling. */
  calls: { name: string; args: string }[];
  /** Addresses, or quoted words where a source has none; each once, sorted. */
  citations: string[];
  /** Images and sounds by kind and size. */
  media: string[];
  end: End;
  stopSequence?: string;
}

/** Tokens; a count of zero is the same as none. */
export interface Counts {
  input: number;
  output: number;
  cached: number;
  cacheWrite: number;
  reasoning: number;
}

export interface Answer {
  choices: Choice[];
  counts?: Counts;
}

/** Begins the arguments of a call that broke off. */
export const BROKEN = 'broken';

/** One wire format, read without the gateway's own code. */
export interface Reader {
  read(body: Json): Answer;
  /** A stream's frames as the whole body that a client's SDK would make of them. Throws for a stream that is none. */
  join(text: string): Json;
  /** A whole body as a stream that says the same. */
  split(body: Json): string;
}

export function emptyChoice(): Choice {
  return { text: '', refusal: '', reasoning: '', calls: [], citations: [], media: [], end: 'none' };
}

/** The data of each event of a stream, by the rules of server-sent events. */
export function eventsIn(text: string): { event?: string; data: string }[] {
  return text.split(/\r\n\r\n|\n\n|\r\r/).flatMap((block) => {
    const lines = block.split(/\r\n|\n|\r/);
    const valuesOf = (field: string) =>
      lines
        .filter((line) => line.startsWith(`${field}:`))
        .map((line) => line.slice(field.length + 1).replace(/^ /, ''));
    const data = valuesOf('data');
    return data.length > 0 ? [{ event: valuesOf('event').at(-1), data: data.join('\n') }] : [];
  });
}

/** JSON text that is equal for equal values: keys sorted, numbers by their exact value. */
export function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (isRawNumber(value) || typeof value === 'number') return exact(JSON.stringify(value));
  if (!isObject(value)) return JSON.stringify(value) ?? 'null';
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`);
  return `{${members.join(',')}}`;
}

/** A decimal number as its digits without outer zeros, and the power of ten of the last one. */
function exact(source: string): string {
  const [, sign = '', whole = '', fraction = '', power = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  const kept = digits.replace(/0+$/, '');
  if (kept === '') return '0';
  return `${sign}${kept}e${Number(power) - fraction.length + digits.length - kept.length}`;
}

export function unique(values: string[]): string[] {
  return [...new Set(values)].sort();
}

/** How a value is shown in a report: long ones around the first place where they differ. */
export function contrast(expected: string, actual: string): string {
  let start = 0;
  while (start < expected.length && expected[start] === actual[start]) start++;
  const from = Math.max(0, start - 30);
  const cut = (text: string) => JSON.stringify((from > 0 ? '…' : '') + text.slice(from, from + 110));
  return `expected ${cut(expected)}, got ${cut(actual)}`;
}
