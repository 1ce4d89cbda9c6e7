/** Member repair in relayed JSON: adds members that clients require, and removes null members that the client did not request. */

import { type Json, splice } from '../../core/json/json.ts';
import { createMarkSearch, type FrameText } from './mark-search.ts';

/** The bytes of `body` with the missing `required` members added. */
export function addMissing(bytes: Buffer, body: Json, required: Readonly<Record<string, Json>> = {}): Buffer {
  if (!lacksAny(body, required)) return bytes;
  const missing = Object.entries(required).filter(([name]) => body[name] === undefined);
  const members = missing.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join();
  const start = bytes.indexOf('{') + 1;
  const comma = Object.keys(body).length > 0 ? ',' : '';
  return splice(bytes, { start, end: start }, members + comma);
}

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

function lacksAny(body: Json, required: Readonly<Record<string, Json>>): boolean {
  for (const name in required) if (body[name] === undefined) return true;
  return false;
}
