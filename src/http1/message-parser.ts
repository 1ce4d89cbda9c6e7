/** Strict parser of the framing of HTTP/1.1 messages (RFC 9112). Its memory is bounded by one read, the size of a head, and the bytes it gets while it is paused. */

import { ownCopy, ownJoined } from '../core/own-bytes.ts';
import { hasBareLineFeed } from './fields.ts';

/** Maximum size of a head (first line and fields), and of trailers. */
const MAX_HEAD_BYTES = 16 * 1024;
/** Maximum size of the extensions of all chunks of a message. */
const MAX_EXTENSION_BYTES = 16 * 1024;

const EMPTY_LINE = Buffer.from('\r\n\r\n');
const NO_BYTES: Buffer = Buffer.alloc(0);
const CR = 13;
const LF = 10;
const TAB = 9;
const SPACE = 32;
const QUOTE = 34;
const SEMICOLON = 59;
const BACKSLASH = 92;
const DELETE = 127;

const MAX_SIZE_DIGITS = 12;
/** Length of a body that ends with the connection. */
export const UNTIL_CLOSE = Number.POSITIVE_INFINITY;
/** Lengths of bodies that a number represents. */
export const LENGTH = /^\d{1,15}$/;

/** Place of the parser in a message. At the `end` of a body, the receiver has not been told yet. */
type State = 'head' | 'length' | ChunkState | 'trailers' | 'end' | 'done';
type ChunkState = 'size' | 'extension' | 'size-lf' | 'chunk' | 'chunk-cr' | 'chunk-lf';

export abstract class MessageParser {
  #state: State = 'done';
  /** The read in progress, and the position in it. */
  #bytes = NO_BYTES;
  #position = 0;
  /** Start of a head or of trailers whose end has not come yet. */
  #begun = NO_BYTES;
  /** Bytes that came while it was paused or behind a message. */
  #kept = NO_BYTES;
  /** Remaining bytes of the body or the chunk. */
  #missing = 0;
  #sizeDigits = 0;
  #extensionBytes = 0;
  /** Byte of an extension that waits for its partner: a quote for its end, a backslash in quotes for the escaped byte. */
  #opened = 0;
  #isPaused = false;
  #isReading = false;
  /** Whether the sender has closed the connection. */
  isClosed = false;

  /** Reads a head; calls `expectBody` or `expectChunks` if it is that of a message, and not one before it. */
  protected abstract readHead(text: string): void;
  /** A part of the body, which is lent until this returns. */
  protected abstract readData(chunk: Buffer): void;
  /** The end, with the text of trailers if there are some. */
  protected abstract readEnd(trailers: string | undefined): void;
  /** Error of a message that breaks a rule; `problem` continues a sentence about the message. */
  protected abstract invalid(problem: string): Error;
  /** Error of a message whose sender closed the connection before its end. */
  protected abstract cut(): Error;
  protected abstract tooLong(part: 'fields' | 'chunk extensions'): Error;

  /** Expects a message. */
  start(): void {
    this.#state = 'head';
    this.#extensionBytes = 0;
    this.#isPaused = false;
    this.#missing = 0;
  }

  /** Expects nothing more. */
  stop(): void {
    this.#state = 'done';
    this.#begun = NO_BYTES;
    this.#kept = NO_BYTES;
  }

  /** Stops, and hands out the bytes that were not read. */
  takeRest(): Buffer {
    const rest = this.hasMore ? ownCopy(this.#bytes, this.#position, this.#bytes.length) : this.#kept;
    this.#position = this.#bytes.length;
    this.stop();
    return rest;
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
    if (this.isClosed) this.#finish();
  }

  /** Bytes that came while it was paused or behind a message. */
  get kept(): Buffer {
    return this.#kept;
  }

  /** Start of a head whose end has not come yet. */
  protected get begun(): Buffer {
    return this.#begun;
  }

  /** Reads bytes of the connection, which are lent until it returns, and changes them. Fails for an invalid message. While it is paused or done, it keeps all that comes. */
  read(bytes: Buffer): void {
    if (this.#isPaused || this.#state === 'done') {
      this.#kept = this.#kept.length === 0 ? ownCopy(bytes, 0, bytes.length) : ownJoined(this.#kept, bytes);
      return;
    }
    this.#bytes = bytes;
    this.#position = 0;
    this.#isReading = true;
    try {
      while (this.#canRead()) this.#readSome();
      if (this.#position < bytes.length) this.#kept = ownCopy(bytes, this.#position, bytes.length);
    } finally {
      this.#isReading = false;
      this.#bytes = NO_BYTES;
    }
  }

  /** The sender closed the connection. Fails, now or from `resume`, if a message is not complete by that. */
  close(): void {
    this.isClosed = true;
    this.#finish();
  }

  /** Expects a body of this many bytes, or one until the connection closes (`UNTIL_CLOSE`). */
  protected expectBody(bytes: number): void {
    this.#missing = bytes;
    this.#state = bytes === 0 ? 'end' : 'length';
  }

  protected expectChunks(): void {
    this.#state = 'size';
    this.#missing = 0;
    this.#sizeDigits = 0;
  }

  /** Whether bytes have come that were not read yet. */
  get isBehind(): boolean {
    return this.hasMore || this.#kept.length > 0;
  }

  /** Whether bytes follow in the same read. */
  protected get hasMore(): boolean {
    return this.#position < this.#bytes.length;
  }

  /** The first of the bytes that follow in the same read. */
  protected following(count: number): Buffer {
    return this.#bytes.subarray(this.#position, this.#position + count);
  }

  #finish(): void {
    if (this.#isPaused || this.#state === 'done') return;
    if (this.#state !== 'length' || this.#missing !== UNTIL_CLOSE) throw this.cut();
    this.#end(undefined);
  }

  #canRead(): boolean {
    if (this.#isPaused || this.#state === 'done') return false;
    return this.#position < this.#bytes.length || this.#state === 'end';
  }

  #readSome(): void {
    if (this.#state === 'head') {
      const text = this.#readBlock();
      if (text !== undefined) this.readHead(text);
    } else if (this.#state === 'end') this.#end(undefined);
    else if (this.#state === 'length') this.#readLength();
    else if (this.#state === 'trailers') {
      const text = this.#readBlock();
      if (text !== undefined) this.#end(text === '' ? undefined : text);
    } else this.#readChunks();
  }

  #readLength(): void {
    const end = Math.min(this.#bytes.length, this.#position + this.#missing);
    this.#missing -= end - this.#position;
    if (this.#missing === 0) this.#state = 'end';
    const chunk = this.#bytes.subarray(this.#position, end);
    this.#position = end;
    this.readData(chunk);
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
      if (start < end) this.readData(bytes.subarray(start, end));
    }
  }

  /** Reads a byte around the content of chunks. */
  #readFraming(byte: number): void {
    if (this.#state === 'size') {
      const digit = hexDigit(byte);
      if (digit >= 0) this.#addDigit(digit);
      else if (this.#sizeDigits === 0) throw this.invalid('has a chunk without a size');
      else if (byte === SEMICOLON) this.#state = 'extension';
      else this.#endSize(byte);
    } else if (this.#state === 'extension') {
      if (byte === CR && this.#opened === 0) this.#endSize(byte);
      else this.#skipExtension(byte);
    } else if (this.#state === 'size-lf') {
      this.#expectByte(byte, LF);
      this.#state = 'chunk';
    } else if (this.#state === 'chunk-cr') {
      this.#expectByte(byte, CR);
      this.#state = 'chunk-lf';
    } else {
      this.#expectByte(byte, LF);
      this.expectChunks();
    }
    // The line end of the last size stays: with it, trailers are a block.
    if (this.#state !== 'trailers') this.#position++;
  }

  /** A line end within quotes is invalid, and some parsers read on behind it. */
  #skipExtension(byte: number): void {
    if ((byte < SPACE && byte !== TAB) || byte === DELETE) throw this.invalid('has an invalid chunk extension');
    if (++this.#extensionBytes > MAX_EXTENSION_BYTES) throw this.tooLong('chunk extensions');
    if (this.#opened === BACKSLASH) this.#opened = QUOTE;
    else if (byte === QUOTE) this.#opened = this.#opened === QUOTE ? 0 : QUOTE;
    else if (byte === BACKSLASH && this.#opened === QUOTE) this.#opened = BACKSLASH;
  }

  #addDigit(digit: number): void {
    this.#missing = this.#missing * 16 + digit;
    if (++this.#sizeDigits > MAX_SIZE_DIGITS) throw this.invalid('has a chunk whose size is too long');
  }

  #endSize(byte: number): void {
    this.#expectByte(byte, CR);
    this.#state = this.#missing === 0 ? 'trailers' : 'size-lf';
  }

  #expectByte(byte: number, expected: number): void {
    if (byte !== expected) throw this.invalid('has an invalid chunk');
  }

  /** The text up to an empty line, once it is there. */
  #readBlock(): string | undefined {
    // The block is in `bytes` from `start` on, of which `held` came before this read.
    const held = this.#begun.length;
    const bytes = held === 0 ? this.#bytes : ownJoined(this.#begun, this.#bytes.subarray(this.#position));
    const start = held === 0 ? this.#position : 0;
    const end = bytes.indexOf(EMPTY_LINE, Math.max(start, held - EMPTY_LINE.length + 1));
    // Without its end, up to three bytes of that may be there.
    const isTooLong = (end < 0 ? bytes.length - EMPTY_LINE.length + 1 : end) - start > MAX_HEAD_BYTES;
    if (end < 0 || isTooLong) {
      this.#begun = held === 0 ? ownCopy(bytes, start, bytes.length) : bytes;
      this.#position = this.#bytes.length;
      if (isTooLong) throw this.tooLong('fields');
      if (hasBareLineFeed(bytes, held === 0 ? start : held))
        throw this.invalid('has a line that ends with a line feed');
      return undefined;
    }
    this.#begun = NO_BYTES;
    this.#position += end + EMPTY_LINE.length - start - held;
    return bytes.toString('latin1', start, end);
  }

  #end(trailers: string | undefined): void {
    this.#state = 'done';
    this.readEnd(trailers);
  }
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}
