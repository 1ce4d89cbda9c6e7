/** Parser of HTTP/1.1 responses: which body a head announces, and whether another request may follow. */

import type { Fields } from '../../core/fields.ts';
import { saysClose } from '../../http1/fields.ts';
import { LENGTH, MessageParser, UNTIL_CLOSE } from '../../http1/message-parser.ts';
import type { Trailers } from '../transport.ts';
import { invalidResponse, keepAliveSeconds, parseHead, parseTrailers } from './head.ts';

export interface ResponseEvents {
  /** Once for each response; never for an interim one. */
  head(status: number, headers: Fields): void;
  /** The chunk is lent until this returns. */
  data(chunk: Buffer): void;
  end(trailers: Trailers): void;
}

/** Interim responses (1xx) before one response; a server sends a few. */
const MAX_INTERIM_RESPONSES = 100;

/** Its errors are `upstream_error`. */
export class ResponseParser extends MessageParser {
  readonly #events: ResponseEvents;
  #interim = 0;
  /** Whether another request may follow on the connection. */
  isReusable = false;
  /** The time in seconds for which the server keeps an idle connection, if it says so. */
  keepAliveSeconds: number | undefined;

  constructor(events: ResponseEvents) {
    super();
    this.#events = events;
  }

  override start(): void {
    super.start();
    this.#interim = 0;
  }

  protected override readHead(text: string): void {
    const { status, isCurrent, fields } = parseHead(text);
    if (status < 200) {
      if (status === 101) throw invalidResponse('switches to another protocol');
      if (++this.#interim > MAX_INTERIM_RESPONSES)
        throw invalidResponse(`has more than ${MAX_INTERIM_RESPONSES} interim responses`);
      return;
    }
    const hasEnd = this.#expect(status, fields, isCurrent);
    this.isReusable = isCurrent && hasEnd && !saysClose(fields);
    this.keepAliveSeconds = keepAliveSeconds(fields);
    this.#events.head(status, fields);
  }

  /** Whether the body ends before the connection. */
  #expect(status: number, fields: Fields, isCurrent: boolean): boolean {
    const { 'transfer-encoding': coding, 'content-length': length } = fields;
    if (coding !== undefined && length !== undefined) throw invalidResponse('has a length and a transfer coding');
    if (status === 204) {
      this.expectBody(0);
      // Content that it announces may come later, and would be read as the next response.
      return coding === undefined && (length === undefined || Number(length) === 0);
    }
    if (status === 304) this.expectBody(0);
    else if (coding !== undefined) {
      if (!isCurrent || coding.toLowerCase() !== 'chunked') throw invalidResponse('has an unknown transfer coding');
      this.expectChunks();
    } else if (length === undefined) {
      this.expectBody(UNTIL_CLOSE);
      return false;
    } else {
      if (!LENGTH.test(length)) throw invalidResponse('has an invalid length');
      this.expectBody(Number(length));
    }
    return true;
  }

  protected override readData(chunk: Buffer): void {
    this.#events.data(chunk);
  }

  protected override readEnd(trailers: string | undefined): void {
    if (this.hasMore) this.isReusable = false;
    this.#events.end(trailers === undefined ? undefined : parseTrailers(trailers));
  }

  protected override cut(): Error {
    return invalidResponse('was cut off before its end');
  }

  protected override invalid(problem: string): Error {
    return invalidResponse(problem);
  }

  protected override tooLong(part: string): Error {
    return invalidResponse(`has ${part} larger than 16 KiB`);
  }
}
