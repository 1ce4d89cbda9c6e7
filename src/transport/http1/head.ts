/** Heads of HTTP/1.1 messages (RFC 9110, section 5): of requests as text, and the fields of responses. */

import { GatewayError } from '../../core/errors.ts';
import type { Fields } from '../../core/fields.ts';
import { FRAMING_HEADERS, type OutgoingBody } from '../../core/platform.ts';
import { FieldNames, isFieldText, linesOf, parseFields } from '../../http1/fields.ts';

export interface RequestLine {
  method: string;
  /** Path with the query. */
  path: string;
  /** Value of the header `host`. */
  host: string;
  /** Whether the connection is closed after it. */
  isLast: boolean;
}

const METHODS_WITHOUT_BODY = ['GET', 'DELETE'];
const SLICE_BYTES = 256 * 1024;

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
    if (lower === undefined || FRAMING_HEADERS.has(lower)) throw new Error(`The header ${name} cannot be sent.`);
    if (!isFieldText(value)) throw new Error(`The header ${name} has a character that cannot be sent.`);
    fields += `${name}: ${value}\r\n`;
  }
  const hasLength = bodyBytes !== undefined || !METHODS_WITHOUT_BODY.includes(method);
  const length = hasLength ? `content-length: ${bodyBytes ?? 0}\r\n` : '';
  return `${method} ${path} HTTP/1.1\r\n${ownHost}connection: ${isLast ? 'close' : 'keep-alive'}\r\n${fields}${length}\r\n`;
}

export function bodySize(body: OutgoingBody): number {
  return Buffer.isBuffer(body) ? body.length : body.reduce((sum, piece) => sum + piece.length, 0);
}

/** Parts of a body that are written one by one. */
export function bodySlices(pieces: readonly Buffer[]): Buffer[] {
  const slices: Buffer[] = [];
  for (const piece of pieces)
    for (let start = 0; start < piece.length; start += SLICE_BYTES)
      slices.push(piece.subarray(start, start + SLICE_BYTES));
  return slices;
}

export interface StatusAndFields {
  status: number;
  /** Whether the version is 1.1. */
  isCurrent: boolean;
  fields: Fields;
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d{2})(?: |$)/;
const KEEP_ALIVE_TIMEOUT = /(?:^|[,; \t])timeout=(\d{1,9})(?!\d)/i;

/** Reads a status line and fields. Throws `upstream_error` for other text, and for a repeated field that says where the body ends. */
export function parseHead(text: string): StatusAndFields {
  const lines = linesOf(text, RULES);
  const [, minor, code] = STATUS_LINE.exec(lines[0] as string) ?? [];
  if (code === undefined) throw invalidResponse('does not begin with a status line');
  return { status: Number(code), isCurrent: minor === '1', fields: parseFields(lines, responseNames, RULES) };
}

/** Reads fields from the end of the line before them on. Throws as `parseHead`. */
export function parseTrailers(text: string): Fields {
  const lines = linesOf(text, RULES);
  if (lines[0] !== '') throw invalidResponse('has an invalid chunk');
  return parseFields(lines, responseNames, RULES);
}

/** The time in seconds for which the server keeps an idle connection; undefined if it does not say. */
export function keepAliveSeconds({ 'keep-alive': text }: Fields): number | undefined {
  const [, seconds] = (text !== undefined && KEEP_ALIVE_TIMEOUT.exec(text)) || [];
  return seconds === undefined ? undefined : Number(seconds);
}

/** The first of repeated fields counts; values of `connection` are joined. Throws `upstream_error` for repeated framing. */
const RULES = {
  invalid: invalidResponse,
  joined(name: string, earlier: string, later: string): string {
    if (name === 'content-length' || name === 'transfer-encoding') throw invalidResponse(`has ${name} twice`);
    return name === 'connection' ? `${earlier},${later}` : earlier;
  },
};

/** Error `upstream_error`; `problem` continues a sentence that begins with "The upstream's response". */
export function invalidResponse(problem: string): GatewayError {
  return new GatewayError('upstream_error', `The upstream's response ${problem}.`);
}

/** Cache of field names of the gateway and the configuration. */
const requestNames = new FieldNames();
/** Cache of field names that upstreams send. */
const responseNames = new FieldNames();
