/** Strict parser of HTTP/1.1 responses (RFC 9112). Its memory is bounded by one read and the size of a head. */

import { ownCopy } from '../../core/own-bytes.ts';
import type { Trailers } from '../transport.ts';
import {
  type Fields,
  invalidResponse as invalid,
  keepAliveSeconds,
  parseHead,
  parseTrailers,
  saysClose,
} from './head.ts';

export interface ResponseEvents {
  /** Once for each response; never for an interim one. */
  head(status: number, headers: Fields): void;
  /** The chunk has memory of its own, as large as itself. */
  data(chunk: Buffer): void;
  end(trailers: Trailers): void;
}

/** Of a status line with its fields, and of trailers. */
const MAX_HEAD_BYTES = 16 * 1024;
/** Of the extensions of all chunks of a response. */
const MAX_EXTENSION_BYTES = 16 * 1024;
/** An interim response says that the answer is on its way; no server sends more than a few. */
const MAX_INTERIM_RESPONSES = 100;

const EMPTY_LINE = Buffer.from('\r\n\r\n');
const NO_BYTES: Buffer = Buffer.alloc(0);
const CR = 13;
const LF = 10;
const TAB = 9;
const SPACE = 32;
const SEMICOLON = 59;
const DELETE = 127;

/** Lengths and sizes that a number represents. */
const LENGTH = /^\d{1,15}$/;
const MAX_SIZE_DIGITS = 12;
/** Length of a body that ends with the connection. */
const UNTIL_CLOSE = Number.POSITIVE_INFINITY;

/** Where the parser is in a response. At the `end` of a body, the receiver has not been told yet. */
type State = 'head' | 'length' | ChunkState | 'trailers' | 'end' | 'done';
type ChunkState = 'size' | 'extension' | 'size-lf' | 'chunk' | 'chunk-cr' | 'chunk-lf';

export class ResponseParser {
  readonly #events: ResponseEvents;
  #state: State = 'done';
  /** The read in progress, and the position in it. */
  #bytes = NO_BYTES;
  #position = 0;
  /** Start of a head or of trailers whose end has not come yet. */
  #begun = NO_BYTES;
  /** Bytes that came while it was paused. */
  #kept = NO_BYTES;
  /** Of the body or the chunk. */
  #missing = 0;
  #sizeDigits = 0;
  #extensionBytes = 0;
  #interim = 0;
  #isPaused = false;
  #isReading = false;
  /** Whether the server has closed the connection. */
  #isClosed = false;
  /** Whether another request may follow on the connection. */
  isReusable = false;
  /** The time in seconds for which the server keeps an idle connection, if it says so. */
  keepAliveSeconds: number | undefined;

  constructor(events: ResponseEvents) {
    this.#events = events;
  }

  /** Expects a response. */
  start(): void {
    this.#state = 'head';
    this.#extensionBytes = 0;
    this.#interim = 0;
    this.#isPaused = false;
    this.#missing = 0;
  }

  /** Expects nothing more. */
  stop(): void {
    this.#state = 'done';
    this.#begun = NO_BYTES;
    this.#kept = NO_BYTES;
  }

  /** No event comes until `resume`. */
  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    if (this.#isReading) return;
    const kept = this.#kept;
    this.#kept = NO_BYTES;
    this.read(kept);
    if (this.#isClosed) this.#finish();
  }

  /** Reads bytes of the connection, and changes them. Throws `upstream_error` for what is no valid response. */
  read(bytes: Buffer): void {
    if (this.#isPaused) {
      this.#kept = Buffer.concat([this.#kept, bytes]);
      return;
    }
    this.#bytes = bytes;
    this.#position = 0;
    this.#isReading = true;
    try {
      while (this.#canRead()) this.#readSome();
      if (this.#isPaused && this.#state !== 'done') this.#kept = ownCopy(bytes, this.#position, bytes.length);
    } finally {
      this.#isReading = false;
      this.#bytes = NO_BYTES;
    }
  }

  /** The server closed the connection. Throws `upstream_error`, now or from `resume`, if a response is not complete by that. */
  close(): void {
    this.#isClosed = true;
    this.#finish();
  }

  #finish(): void {
    if (this.#isPaused || this.#state === 'done') return;
    if (this.#state !== 'length' || this.#missing !== UNTIL_CLOSE) throw invalid('ended before its end');
    this.#end(undefined);
  }

  #canRead(): boolean {
    if (this.#isPaused || this.#state === 'done') return false;
    return this.#position < this.#bytes.length || this.#state === 'end';
  }

  #readSome(): void {
    if (this.#state === 'head') this.#readHead();
    else if (this.#state === 'end') this.#end(undefined);
    else if (this.#state === 'length') this.#readLength();
    else if (this.#state === 'trailers') this.#readTrailers();
    else this.#readChunks();
  }

  #readHead(): void {
    const text = this.#readBlock();
    if (text === undefined) return;
    const { status, isCurrent, fields } = parseHead(text);
    if (status < 200) {
      if (status === 101) throw invalid('switches to another protocol');
      if (++this.#interim > MAX_INTERIM_RESPONSES) throw invalid('begins too often');
      return;
    }
    this.#frameBody(status, fields, isCurrent);
    this.#events.head(status, fields);
  }

  /** Decides where the body ends. */
  #frameBody(status: number, fields: Fields, isCurrent: boolean): void {
    const { 'transfer-encoding': coding, 'content-length': length } = fields;
    if (coding !== undefined && length !== undefined) throw invalid('has a length and a transfer coding');
    if (status === 204 || status === 304) this.#state = 'end';
    else if (coding !== undefined) {
      if (!isCurrent || coding.toLowerCase() !== 'chunked') throw invalid('has an unknown transfer coding');
      this.#startSize();
    } else {
      if (length !== undefined && !LENGTH.test(length)) throw invalid('has an invalid length');
      this.#missing = length === undefined ? UNTIL_CLOSE : Number(length);
      this.#state = this.#missing === 0 ? 'end' : 'length';
    }
    this.isReusable = isCurrent && this.#missing !== UNTIL_CLOSE && !saysClose(fields);
    this.keepAliveSeconds = keepAliveSeconds(fields);
  }

  #readLength(): void {
    const end = Math.min(this.#bytes.length, this.#position + this.#missing);
    this.#missing -= end - this.#position;
    if (this.#missing === 0) this.#state = 'end';
    const chunk = ownCopy(this.#bytes, this.#position, end);
    this.#position = end;
    this.#events.data(chunk);
  }

  /** Moves the content of all chunks of a read together, so that it is one event, which comes before an error. */
  #readChunks(): void {
    const bytes = this.#bytes;
    let start = 0;
    let end = 0;
    try {
      while (this.#position < bytes.length && this.#state !== 'trailers') {
        if (this.#state !== 'chunk') {
          this.#readFraming(bytes[this.#position] as number);
          continue;
        }
        const from = this.#position;
        this.#position = Math.min(bytes.length, from + this.#missing);
        this.#missing -= this.#position - from;
        if (this.#missing === 0) this.#state = 'chunk-cr';
        if (start === end) start = end = from;
        else bytes.copyWithin(end, from, this.#position);
        end += this.#position - from;
      }
    } finally {
      if (start < end) this.#events.data(ownCopy(bytes, start, end));
    }
  }

  /** Reads a byte around the content of chunks. */
  #readFraming(byte: number): void {
    if (this.#state === 'size') {
      const digit = hexDigit(byte);
      if (digit >= 0) this.#addDigit(digit);
      else if (this.#sizeDigits === 0) throw invalid('has a chunk without a size');
      else if (byte === SEMICOLON) this.#state = 'extension';
      else this.#endSize(byte);
    } else if (this.#state === 'extension') {
      if (byte === CR) this.#endSize(byte);
      else this.#skipExtension(byte);
    } else if (this.#state === 'size-lf') {
      expectByte(byte, LF);
      this.#state = 'chunk';
    } else if (this.#state === 'chunk-cr') {
      expectByte(byte, CR);
      this.#state = 'chunk-lf';
    } else {
      expectByte(byte, LF);
      this.#startSize();
    }
    // The line end of the last size stays: with it, trailers are a block.
    if (this.#state !== 'trailers') this.#position++;
  }

  #skipExtension(byte: number): void {
    if ((byte < SPACE && byte !== TAB) || byte === DELETE) throw invalid('has an invalid chunk extension');
    if (++this.#extensionBytes > MAX_EXTENSION_BYTES) throw invalid('has chunk extensions that are too long');
  }

  #startSize(): void {
    this.#state = 'size';
    this.#missing = 0;
    this.#sizeDigits = 0;
  }

  #addDigit(digit: number): void {
    this.#missing = this.#missing * 16 + digit;
    if (++this.#sizeDigits > MAX_SIZE_DIGITS) throw invalid('has a chunk whose size is too long');
  }

  #endSize(byte: number): void {
    expectByte(byte, CR);
    this.#state = this.#missing === 0 ? 'trailers' : 'size-lf';
  }

  #readTrailers(): void {
    const text = this.#readBlock();
    if (text !== undefined) this.#end(text === '' ? undefined : parseTrailers(text));
  }

  /** The text up to an empty line, once it is there. */
  #readBlock(): string | undefined {
    const held = this.#begun.length;
    const bytes = held === 0 ? this.#bytes : Buffer.concat([this.#begun, this.#bytes.subarray(this.#position)]);
    const start = held === 0 ? this.#position : 0;
    const end = bytes.indexOf(EMPTY_LINE, Math.max(start, held - EMPTY_LINE.length + 1));
    if ((end < 0 ? bytes.length : end) - start > MAX_HEAD_BYTES) throw invalid('has fields that are too long');
    if (end < 0) {
      this.#begun = held === 0 ? ownCopy(bytes, start, bytes.length) : bytes;
      this.#position = this.#bytes.length;
      return undefined;
    }
    this.#begun = NO_BYTES;
    this.#position += end + EMPTY_LINE.length - start - held;
    return bytes.toString('latin1', start, end);
  }

  #end(trailers: Trailers): void {
    this.#state = 'done';
    if (this.#position < this.#bytes.length) this.isReusable = false;
    this.#events.end(trailers);
  }
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}

function expectByte(byte: number, expected: number): void {
  if (byte !== expected) throw invalid('has an invalid chunk');
}
