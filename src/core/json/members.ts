/** Member replacement in JSON text; all other bytes stay unchanged. */

import { sameMember } from './copy.ts';
import { type Json, type Span, skipSpace, spanAt, splice, valueEnd, visitMembers } from './json.ts';
import { needsSlices, writeInSlices } from './write-slices.ts';

export interface MemberChange {
  /** Relative to the object; all names but the last must be existing objects. */
  path: readonly string[];
  value: Json;
}

/** Sets members of the object at `path`; the text is unchanged if there is no such object. */
export function setMembers(bytes: Buffer, path: readonly string[], changes: readonly MemberChange[]): Buffer {
  const span = objectAt(bytes, path);
  if (!span) return bytes;
  let object = bytes.subarray(span.start, span.end);
  for (const change of changes) object = setMember(object, change);
  return Buffer.concat([bytes.subarray(0, span.start), object, bytes.subarray(span.end)]);
}

function setMember(bytes: Buffer, { path, value }: MemberChange): Buffer {
  const text = JSON.stringify(value);
  const present = spanAt(bytes, path);
  if (present) return splice(bytes, present, text);
  const holder = path.length === 1 ? { start: 0, end: bytes.length } : objectAt(bytes, path.slice(0, -1));
  if (!holder) return bytes;
  const end = holder.end - 1;
  const empty = bytes.toString('latin1', holder.start + 1, end).trim() === '';
  return splice(bytes, { start: end, end }, `${empty ? '' : ','}${JSON.stringify(path.at(-1))}:${text}`);
}

/**
 * The JSON of `changed`, a copy of the object `read` from the bytes: a member with the same value keeps its bytes, unless its name
 * is in `rewritten`. Takes a promise where a large member has changed.
 */
export function writeChanges(
  bytes: Buffer,
  { read, changed, rewritten = [] }: { read: Json; changed: Json; rewritten?: readonly string[] },
): Buffer | Promise<Buffer> {
  const pieces: (string | Buffer | Promise<Buffer>)[] = [];
  const inPlace = new Set<string>();

  function write(name: string): void {
    const value = changed[name];
    if (value === undefined) return;
    pieces.push(memberStart(name, pieces), needsSlices(value) ? writeInSlices(value) : JSON.stringify(value));
  }

  visitMembers(bytes, (name, start, end) => {
    inPlace.add(name);
    if (!Object.hasOwn(changed, name)) return;
    const isKept = !rewritten.includes(name) && sameMember(read, changed, name);
    if (isKept) pieces.push(memberStart(name, pieces), bytes.subarray(start, end));
    else write(name);
  });
  for (const name in changed) if (!inPlace.has(name)) write(name);
  pieces.push(pieces.length === 0 ? '{}' : '}');
  return pieces.some((piece) => piece instanceof Promise)
    ? Promise.all(pieces).then(joined)
    : joined(pieces as (string | Buffer)[]);
}

function memberStart(name: string, { length }: readonly unknown[]): string {
  return `${length === 0 ? '{' : ','}${JSON.stringify(name)}:`;
}

function joined(pieces: readonly (string | Buffer)[]): Buffer {
  return Buffer.concat(pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)));
}

const OPEN_BRACE = 123;

function objectAt(bytes: Buffer, path: readonly string[]): Span | undefined {
  const span = path.length === 0 ? wholeSpan(bytes) : spanAt(bytes, path);
  return span && bytes[span.start] === OPEN_BRACE ? span : undefined;
}

function wholeSpan(bytes: Buffer): Span {
  const start = skipSpace(bytes, 0);
  return { start, end: valueEnd(bytes, start) };
}
