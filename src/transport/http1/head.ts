/** Heads of HTTP/1.1 messages (RFC 9110, section 5): of requests as text, and the fields of responses. */

import { GatewayError } from '../../core/errors.ts';

/** Names in lower case. */
export type Fields = Record<string, string | undefined>;

export interface RequestLine {
  method: string;
  /** With the query. */
  path: string;
  /** Value of the header `host`. */
  host: string;
  /** Whether the connection is closed after it. */
  isLast: boolean;
}

/** Headers that are the connection's own. */
const FRAMING = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'expect']);
const LINE_END = '\r\n';
const SPACE = 32;
const TAB = 9;
const METHODS_WITHOUT_BODY = ['GET', 'DELETE'];

/** Throws for a header that would change the meaning of the request. A length of its own is left out, its host is kept. */
export function requestHead(
  { method, path, host, isLast }: RequestLine,
  headers: Readonly<Record<string, string>>,
  bodyBytes: number | undefined,
): string {
  let ownHost = `host: ${host}\r\n`;
  let fields = '';
  for (const name in headers) {
    const value = headers[name] as string;
    const lower = requestNames.lowerCase(name);
    if (lower === 'content-length') continue;
    if (lower === 'host') {
      if (ownHost === '') continue;
      ownHost = '';
    }
    if (lower === undefined || FRAMING.has(lower)) throw new Error(`The header ${name} cannot be sent.`);
    if (!isFieldText(value)) throw new Error(`The header ${name} has a character that cannot be sent.`);
    fields += `${name}: ${value}\r\n`;
  }
  const hasLength = bodyBytes !== undefined || !METHODS_WITHOUT_BODY.includes(method);
  const length = hasLength ? `content-length: ${bodyBytes ?? 0}\r\n` : '';
  return `${method} ${path} HTTP/1.1\r\n${ownHost}connection: ${isLast ? 'close' : 'keep-alive'}\r\n${fields}${length}\r\n`;
}

export interface StatusAndFields {
  status: number;
  /** Whether the version is 1.1. */
  isCurrent: boolean;
  fields: Fields;
}

const STATUS_LINE = /^HTTP\/1\.([01]) (\d{3})(?: |$)/;
const CLOSE = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;
const KEEP_ALIVE_TIMEOUT = /(?:^|[,; \t])timeout=(\d{1,9})(?!\d)/i;

/** Reads a status line and fields. Throws `upstream_error` for other text, and for a repeated field that says where the body ends. */
export function parseHead(text: string): StatusAndFields {
  const lines = text.split(LINE_END);
  const [first = ''] = lines;
  const [, minor, code] = STATUS_LINE.exec(first) ?? [];
  if (code === undefined || !isFieldText(first)) throw invalidResponse('does not begin with a status line');
  return { status: Number(code), isCurrent: minor === '1', fields: parseFields(lines) };
}

/** Reads fields from the end of the line before them on. Throws as `parseHead`. */
export function parseTrailers(text: string): Fields {
  const lines = text.split(LINE_END);
  if (lines[0] !== '') throw invalidResponse('has an invalid chunk');
  return parseFields(lines);
}

/** Whether the server closes the connection after the response. */
export function saysClose({ connection }: Fields): boolean {
  return connection !== undefined && CLOSE.test(connection);
}

/** The time in seconds for which the server keeps an idle connection; undefined if it does not say. */
export function keepAliveSeconds({ 'keep-alive': text }: Fields): number | undefined {
  const [, seconds] = (text !== undefined && KEEP_ALIVE_TIMEOUT.exec(text)) || [];
  return seconds === undefined ? undefined : Number(seconds);
}

/** The fields in the lines after the first; of repeated ones the first. */
function parseFields(lines: readonly string[]): Fields {
  const fields: Fields = {};
  for (let index = 1; index < lines.length; index++) {
    const line = lines[index] as string;
    const colon = line.indexOf(':');
    const name = responseNames.lowerCase(line.slice(0, Math.max(0, colon)));
    if (name === undefined) throw invalidResponse('has a field without a valid name');
    if (!isFieldText(line)) throw invalidResponse('has a control character in its fields');
    const value = withoutSpace(line, colon + 1);
    const other = fields[name];
    if (other === undefined) fields[name] = value;
    else if (name === 'connection') fields[name] = `${other},${value}`;
    else if (name === 'content-length' || name === 'transfer-encoding') throw invalidResponse(`has ${name} twice`);
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

export function invalidResponse(problem: string): GatewayError {
  return new GatewayError('upstream_error', `The upstream's response ${problem}.`);
}

const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
const OTHER_THAN_TEXT = /[^\t\x20-\x7e\x80-\xff]/;
const MAX_KNOWN_NAMES = 500;
const MAX_KNOWN_LENGTH = 64;

/** Whether a text can be the value of a field, or a line of a head. */
function isFieldText(text: string): boolean {
  return !OTHER_THAN_TEXT.test(text);
}

/** Names of fields in lower case. Those that programs send are few, and looking one up is faster than checking it. */
class FieldNames {
  readonly #known = new Map<string, string>();

  /** Undefined for a text that is no name. */
  lowerCase(written: string): string | undefined {
    const known = this.#known.get(written);
    if (known !== undefined) return known;
    if (!TOKEN.test(written)) return undefined;
    const name = written.toLowerCase();
    if (this.#known.size < MAX_KNOWN_NAMES && name.length <= MAX_KNOWN_LENGTH)
      this.#known.set(flat(written), flat(name));
    return name;
  }
}

/** A copy of its own: a part of a text keeps all of it. */
function flat(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}

/** Of the gateway and of the configuration. */
const requestNames = new FieldNames();
/** Of upstreams. */
const responseNames = new FieldNames();
