/** Member repair in relayed JSON: adds members that clients require, and removes null members that the client did not request. */

import { type Json, splice } from '../../core/json/json.ts';
import type { Edit } from '../../core/json/spans.ts';
import { createMarkSearch, type FrameText } from './mark-search.ts';

/** The edit that adds the `required` members that are missing in the bytes of `body`. */
export function missingMembers(bytes: Buffer, body: Json, required: Readonly<Record<string, Json>>): Edit | undefined {
  let members = '';
  for (const [name, text] of textsOf(required)) if (body[name] === undefined) members += text;
  if (members === '') return undefined;
  const start = bytes.indexOf(OPEN_BRACE) + 1;
  const isEmpty = Object.keys(body).length === 0;
  return { start, end: start, text: Buffer.from(isEmpty ? members.slice(0, -1) : members) };
}

/** The required members of an operation, each with its JSON and a comma. */
const knownTexts = new WeakMap<Readonly<Record<string, Json>>, [name: string, text: string][]>();

function textsOf(required: Readonly<Record<string, Json>>): [name: string, text: string][] {
  const known = knownTexts.get(required);
  if (known) return known;
  const texts = Object.entries(required).map(([name, value]): [string, string] => [
    name,
    `${JSON.stringify(name)}:${JSON.stringify(value)},`,
  ]);
  knownTexts.set(required, texts);
  return texts;
}

const OPEN_BRACE = 123;

export type NullRemover = (frame: Buffer, text: FrameText) => Buffer;

/**
 * Removes `"name":null` and its comma from JSON frames. Inside a JSON string its quotes would be escaped, so no parser is
 * needed.
 */
export function createNullRemover(name: string): NullRemover {
  const mark = Buffer.from(JSON.stringify(name));
  const hasMember = createMarkSearch([JSON.stringify(name)]);
  return (frame, text) => {
    if (!hasMember(text)) return frame;
    const at = frame.indexOf(mark);
    const found = NULL.exec(frame.toString('latin1', at + mark.length, at + mark.length + LONGEST_NULL));
    if (!found) return frame;
    const end = at + mark.length + found[0].length;
    if (found[1] === ',') return splice(frame, { start: at, end }, '');
    const comma = frame.subarray(0, at).toString('latin1').trimEnd();
    return splice(frame, { start: comma.endsWith(',') ? comma.length - 1 : at, end }, '');
  };
}

const NULL = /^[ ]?:[ ]?null[ ]?(,?)/;
const LONGEST_NULL = ' : null ,'.length;
