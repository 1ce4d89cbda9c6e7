/** Fields of HTTP/1.1 messages (RFC 9110, section 5). */

import type { Fields } from '../core/fields.ts';
import { ownText } from '../core/own-bytes.ts';

export interface FieldRules {
  /** Error of a head that breaks a rule; `problem` continues a sentence about the message. */
  invalid(problem: string): Error;
  /** The value of a field that came before with another one. */
  joined(name: string, earlier: string, later: string): string;
}

const LINE_END = '\r\n';
const SPACE = 32;
const TAB = 9;
const LF = 10;
const CR = 13;

/** The lines of the part of a message before its body, or behind it. Fails for a character that no line may have. */
export function linesOf(text: string, { invalid }: Pick<FieldRules, 'invalid'>): string[] {
  if (!isBlockText(text)) throw invalid('has a control character in its fields');
  return text.split(LINE_END);
}

/** Whether a line ends without a carriage return, from a position on. */
export function hasBareLineFeed(bytes: Buffer, from: number): boolean {
  for (let at = bytes.indexOf(LF, from); at >= 0; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at - 1] !== CR) return true;
  }
  return false;
}

/** The fields in the lines after the first. */
export function parseFields(lines: readonly string[], names: FieldNames, { invalid, joined }: FieldRules): Fields {
  const fields: Fields = {};
  for (let index = 1; index < lines.length; index++) {
    const line = lines[index] as string;
    const colon = line.indexOf(':');
    const name = names.lowerCase(line.slice(0, Math.max(0, colon)));
    if (name === undefined) throw invalid('has a field without a valid name');
    const value = withoutSpace(line, colon + 1);
    const earlier: unknown = fields[name];
    // A name may be that of a property of every object.
    fields[name] = typeof earlier === 'string' ? joined(name, earlier, value) : value;
  }
  return fields;
}

/** The rest of a line without the spaces and tabs around it. */
function withoutSpace(line: string, from: number): string {
  let start = from;
  let end = line.length;
  while (start < end && isBlank(line.charCodeAt(start))) start++;
  while (end > start && isBlank(line.charCodeAt(end - 1))) end--;
  return line.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}

const CLOSE = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;

/** Whether the sender closes the connection after the message. */
export function saysClose({ connection }: Fields): boolean {
  return connection !== undefined && CLOSE.test(connection);
}

const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
const OTHER_THAN_TEXT = /[^\t\x20-\x7e\x80-\xff]/;
const OTHER_THAN_LINES = /[^\t\r\n\x20-\x7e\x80-\xff]|\r(?!\n)|(?<!\r)\n/;
const MAX_KNOWN_NAMES = 500;
const MAX_KNOWN_LENGTH = 64;

/** Whether a text can be the value of a field. */
export function isFieldText(text: string): boolean {
  return !OTHER_THAN_TEXT.test(text);
}

/** Whether a text consists of lines that can be fields. */
function isBlockText(text: string): boolean {
  return !OTHER_THAN_LINES.test(text);
}

/** Names of fields in lower case. Those that programs send are few, and looking one up is faster than checking it. */
export class FieldNames {
  readonly #known = new Map<string, string>();

  /** Undefined for a text that is no name. */
  lowerCase(written: string): string | undefined {
    const known = this.#known.get(written);
    if (known !== undefined) return known;
    if (!TOKEN.test(written)) return undefined;
    const name = written.toLowerCase();
    if (this.#known.size < MAX_KNOWN_NAMES && name.length <= MAX_KNOWN_LENGTH)
      this.#known.set(ownText(written), ownText(name));
    return name;
  }
}
