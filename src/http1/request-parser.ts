/** Strict parser of HTTP/1.1 requests (RFC 9112): it refuses all that a proxy in front could read in another way. */

import { GatewayError } from '../core/errors.ts';
import type { Fields } from '../core/fields.ts';
import { FieldNames, linesOf, parseFields } from './fields.ts';
import { LENGTH, MessageParser } from './message-parser.ts';

export interface ParsedHead {
  method: string;
  /** Path with the query, or `*`. */
  url: string;
  /** Whether the version is 1.1, and not 1.0. */
  isCurrent: boolean;
  headers: Fields;
  /** All values of the fields that came more than once; undefined without any. */
  repeated: ReadonlyMap<string, readonly string[]> | undefined;
  hasBody: boolean;
}

export interface RequestEvents {
  head(head: ParsedHead): void;
  /** The chunk is lent until this returns. */
  data(chunk: Buffer): void;
  end(): void;
}

const REQUEST_LINE = /^([A-Z][A-Z-]{0,19}) ([\x21-\x7e]+) HTTP\/1\.([01])$/;
/** A target as clients of proxies write it: a URL, whose path may be empty. */
const URL_START = /^https?:\/\/[\w.:[\]-]+((?:[/?].*)?)$/i;
/** Start of another request, which old clients begin with an empty line. */
const REQUEST_START = /^(?:\r\n?)?(?:$|[A-Z][A-Z-]{0,19}(?: |$))/;
const MAX_START_BYTES = 24;
const LINE_END = '\r\n';
const PATH = /^[A-Za-z]{1,20} (?:https?:\/\/[\w.:[\]-]+)?(\/[^\s?#]*)/i;
const MAX_PATH_BYTES = 4096;
/** Fields of which the first counts, because a list of their values means nothing. */
const FIRST_COUNTS = new Set([
  'authorization',
  'content-type',
  'from',
  'host',
  'if-modified-since',
  'if-unmodified-since',
  'max-forwards',
  'proxy-authorization',
  'referer',
  'user-agent',
]);

/** Its errors are `invalid_request`, `headers_too_large` and `payload_too_large`. */
export class RequestParser extends MessageParser {
  readonly #events: RequestEvents;
  #brokenHead = '';
  #expectsHead = false;

  constructor(events: RequestEvents) {
    super();
    this.#events = events;
  }

  /** Path of a request whose head is incomplete or invalid, as far as it can be read. */
  get brokenPath(): string | undefined {
    const text = this.#brokenHead || this.begun.toString('latin1', 0, MAX_PATH_BYTES);
    return PATH.exec(withoutEmptyLine(text))?.[1];
  }

  /** Whether a head has begun, by more than the empty line that old clients send behind a body. */
  get hasBegun(): boolean {
    return this.begun.length > LINE_END.length;
  }

  /** Whether bytes came behind a request that do not begin another one. */
  get isFollowedByGarbage(): boolean {
    return this.hasMore && !REQUEST_START.test(this.following(MAX_START_BYTES).toString('latin1'));
  }

  override start(): void {
    super.start();
    this.#expectsHead = true;
  }

  /** Refuses a greeting of another protocol at once: it may have no line end, and its client waits for an answer. */
  override read(bytes: Buffer): void {
    super.read(bytes);
    if (!this.#expectsHead || this.begun.length === 0) return;
    if (!REQUEST_START.test(this.begun.toString('latin1', 0, MAX_START_BYTES))) throw noRequestLine();
  }

  protected override readHead(text: string): void {
    this.#expectsHead = false;
    let head: ParsedHead;
    try {
      head = parseHead(withoutEmptyLine(text));
    } catch (error) {
      this.#brokenHead = text.slice(0, MAX_PATH_BYTES);
      throw error;
    }
    this.#expect(head);
    this.#events.head(head);
  }

  #expect({ headers, hasBody }: ParsedHead): void {
    if (!hasBody) this.expectBody(0);
    else if (headers['transfer-encoding'] !== undefined) this.expectChunks();
    else this.expectBody(Number(headers['content-length']));
  }

  protected override readData(chunk: Buffer): void {
    this.#events.data(chunk);
  }

  /** Trailers are checked, and nothing reads them. */
  protected override readEnd(trailers: string | undefined): void {
    if (trailers !== undefined) {
      // The first line is the end of that of the last chunk.
      parseFields(linesOf(trailers, { invalid }), names, { invalid, joined: (_name, earlier) => earlier });
    }
    this.#events.end();
  }

  protected override cut(): Error {
    return new GatewayError('client_closed', 'The client closed the connection before its request was complete.');
  }

  protected override invalid(problem: string): Error {
    return invalid(problem);
  }

  protected override tooLong(part: 'fields' | 'chunk extensions'): Error {
    return part === 'fields'
      ? new GatewayError('headers_too_large', 'The headers are larger than 16 KiB.')
      : new GatewayError('payload_too_large', 'The extensions of chunks are larger than 16 KiB.');
  }
}

function withoutEmptyLine(text: string): string {
  return text.startsWith(LINE_END) ? text.slice(LINE_END.length) : text;
}

function parseHead(text: string): ParsedHead {
  const lines = linesOf(text, { invalid });
  const [, method, target, minor] = REQUEST_LINE.exec(lines[0] as string) ?? [];
  if (method === undefined || target === undefined) throw noRequestLine();
  const url = pathOf(target);
  let repeated: Map<string, string[]> | undefined;
  const headers = parseFields(lines, names, {
    invalid,
    joined(name, earlier, later) {
      repeated ??= new Map();
      const values = repeated.get(name);
      if (values) values.push(later);
      else repeated.set(name, [earlier, later]);
      return joinedValue(name, earlier, later);
    },
  });
  const isCurrent = minor === '1';
  return { method, url, isCurrent, headers, repeated, hasBody: hasBody(headers, isCurrent) };
}

/** The path with the query in a target, or `*`; the address in a URL is ignored, as `Host` is. */
function pathOf(target: string): string {
  if (target.startsWith('/') || target === '*') return target;
  const rest = URL_START.exec(target)?.[1];
  if (rest === undefined) throw invalid('has a target that is no path');
  return rest.startsWith('/') ? rest : `/${rest}`;
}

function joinedValue(name: string, earlier: string, later: string): string {
  if (name === 'content-length' || name === 'transfer-encoding') throw invalid(`has ${name} twice`);
  if (FIRST_COUNTS.has(name)) return earlier;
  return `${earlier}${name === 'cookie' ? '; ' : ', '}${later}`;
}

/** Fails for a body whose end can be read in two ways. */
function hasBody(fields: Fields, isCurrent: boolean): boolean {
  const { 'transfer-encoding': coding, 'content-length': length } = fields;
  if (coding !== undefined) {
    if (length !== undefined) throw invalid('has a length and a transfer coding');
    if (!isCurrent || coding.toLowerCase() !== 'chunked') throw invalid('has an unknown transfer coding');
    return true;
  }
  if (length === undefined) return false;
  if (!LENGTH.test(length)) throw invalid('has an invalid length');
  return Number(length) > 0;
}

function noRequestLine(): GatewayError {
  return invalid('does not begin with a request line');
}

function invalid(problem: string): GatewayError {
  return new GatewayError('invalid_request', `This is no well-formed HTTP request: it ${problem}.`);
}

/** Cache of field names that clients send. */
const names = new FieldNames();
