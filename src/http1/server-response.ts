/** Response on a connection of a client: its head, the framing of its body (RFC 9112, 6 and 7), and its end. */

import type { Socket } from 'node:net';
import type { Fields } from '../core/fields.ts';
import { FieldNames, isFieldText, saysClose } from './fields.ts';
import { LENGTH } from './message-parser.ts';
import { reasonPhrase } from './reason-phrases.ts';

export type BodyPiece = string | Buffer;

/** Connection that a response is written to. */
export interface ResponseConnection {
  readonly socket: Socket;
  /** Fields of every response: its date, and whether the connection is kept. */
  commonFields(isLast: boolean): string;
  /** Ends the reading of the request, where the head of its response is made. Whether no other response may follow. */
  settleRequest(): boolean;
  /** All of the response was handed to the system. */
  responseEnded(): void;
}

export interface ResponseTo {
  method: string;
  /** Whether the version of the request is 1.1, and not 1.0. */
  isCurrent: boolean;
  /** Whether the connection is closed after this response. */
  isLast: boolean;
}

/** Length line and last line break of a chunk: at most eight digits and two CRLF. */
export const MAX_CHUNK_FRAMING_BYTES = 12;
/** Up to this size, copying pieces into one buffer is faster than writing several. */
const MAX_COPIED_BYTES = 32 * 1024;
/** Size up to which copying a body behind its head is cheaper than writing the two as a list. */
const SMALL_BYTES = 16 * 1024;
const LINE_END = '\r\n';
const NO_PIECES: readonly BodyPiece[] = [];

/** Framing of the body, by which its end is found: `none` has no body. */
type Framing = 'none' | 'length' | 'chunks' | 'close';

export class ServerResponse {
  statusCode = 200;
  /** Whether the head was made; it goes out with the first bytes of the body. */
  headersSent = false;
  /** All of it was handed to the system. */
  writableFinished = false;
  /** The client is gone, or was let go, before the end. */
  destroyed = false;
  /** Over, in one way or the other. */
  closed = false;
  /** Whether the version of the request is 1.1, and not 1.0. */
  readonly isCurrent: boolean;
  /** Called when more can be written. */
  onDrain: (() => void) | undefined;
  readonly #connection: ResponseConnection;
  readonly #isHead: boolean;
  #isLast: boolean;
  #unsentHead = '';
  #framing: Framing = 'close';
  /** Bytes of the announced length that were not written. */
  #missing = 0;
  #hasEnded = false;
  #listeners: (() => void)[] = [];

  constructor(connection: ResponseConnection, { method, isCurrent, isLast }: ResponseTo) {
    this.#connection = connection;
    this.isCurrent = isCurrent;
    this.#isHead = method === 'HEAD';
    this.#isLast = isLast;
  }

  /** Whether the connection is closed after this response. */
  get isLast(): boolean {
    return this.#isLast;
  }

  /** Closes the connection after this response. */
  closeAfterwards(): void {
    this.#isLast = true;
  }

  /** Whether more should be written only after `onDrain`. */
  get isFull(): boolean {
    return this.#connection.socket.writableNeedDrain;
  }

  /** Bytes that were not handed to the system. */
  get waiting(): number {
    return this.#connection.socket.writableLength;
  }

  /** Bytes from which on it is full. */
  get capacity(): number {
    return this.#connection.socket.writableHighWaterMark;
  }

  /** `listener` is called once, at its end or when the client disconnects; at once if that has been. */
  on(_event: 'close', listener: () => void): void {
    if (this.closed) listener();
    else this.#listeners.push(listener);
  }

  /** Names of `headers` are in lower case. Fails for a field that cannot be sent or is the connection's own, and for a second head. */
  writeHead(status: number, headers: Readonly<Fields>): void {
    if (this.headersSent) throw new Error('The response has a head.');
    this.#isLast = this.#connection.settleRequest() || saysClose(headers) || this.#isLast;
    this.#frame(status, headers['content-length']);
    let text = `HTTP/1.1 ${status} ${reasonPhrase(status)}\r\n`;
    for (const name in headers) {
      const value = headers[name];
      if (value === undefined || name === 'connection') continue;
      if (name === 'trailer' && this.#framing !== 'chunks') continue;
      checkField(name, value);
      text += `${name}: ${value}\r\n`;
    }
    if (headers.connection !== undefined && !this.#isLast) text += `connection: ${headers.connection}\r\n`;
    text += this.#connection.commonFields(this.#isLast);
    this.statusCode = status;
    this.headersSent = true;
    this.#unsentHead = `${text}${this.#framing === 'chunks' ? 'Transfer-Encoding: chunked\r\n' : ''}\r\n`;
  }

  #frame(status: number, length: string | undefined): void {
    if (this.#isHead || status === 204 || status === 304) this.#framing = 'none';
    else if (length !== undefined) {
      if (!LENGTH.test(length)) throw new Error('The length of the response is invalid.');
      this.#framing = 'length';
      this.#missing = Number(length);
    } else if (this.isCurrent) this.#framing = 'chunks';
    else {
      this.#framing = 'close';
      this.#isLast = true;
    }
  }

  /** Writes pieces of the body, of exactly `bytes`, behind the head: as one chunk where chunks are the framing. */
  write(pieces: readonly BodyPiece[], bytes: number): void {
    if (bytes === 0 || this.#isOver || !this.#count(bytes)) return;
    const { socket } = this.#connection;
    const before = this.#takeHead() + (this.#framing === 'chunks' ? bytes.toString(16) + LINE_END : '');
    const after = this.#framing === 'chunks' ? LINE_END : '';
    if (this.#framing === 'none') {
      if (before !== '') socket.write(before, 'latin1');
    } else if (bytes <= SMALL_BYTES && isAscii(pieces, bytes)) socket.write(before + pieces.join('') + after, 'latin1');
    else if (bytes <= MAX_COPIED_BYTES) this.#writeJoined(joined(before, pieces, bytes, after));
    else this.#writeSeveral(before, pieces, after);
  }

  /** Writes the rest of the body, as `write`. Trailers are left out where the framing has no place for them. */
  end(pieces: readonly BodyPiece[] = NO_PIECES, bytes = 0, trailers?: Readonly<Record<string, string>>): void {
    if (this.#isOver || !this.#count(bytes)) return;
    // The client would take the next response for the rest of this one.
    if (this.#framing === 'length' && this.#missing > 0) {
      this.destroy();
      return;
    }
    const after = this.#framing === 'chunks' ? `${bytes > 0 ? LINE_END : ''}0\r\n${fieldLines(trailers)}\r\n` : '';
    const size = this.#framing === 'chunks' && bytes > 0 ? bytes.toString(16) + LINE_END : '';
    this.#hasEnded = true;
    const { socket } = this.#connection;
    const before = this.#takeHead() + size;
    const [only] = pieces;
    if (bytes === 0 || this.#framing === 'none') socket.write(before + after, 'latin1', this.#whenWritten);
    else if (pieces.length === 1 && typeof only !== 'string' && only && bytes <= SMALL_BYTES)
      socket.write(before + only.toString('latin1') + after, 'latin1', this.#whenWritten);
    else if (bytes <= MAX_COPIED_BYTES) this.#writeJoined(joined(before, pieces, bytes, after), this.#whenWritten);
    else this.#writeSeveral(before, pieces, after, this.#whenWritten);
  }

  /** Ends the connection at once. */
  destroy(): void {
    if (this.closed) return;
    this.destroyed = true;
    this.#connection.socket.destroy();
  }

  /** The connection was taken over by another protocol; it ends with it. */
  switchProtocols(): void {
    this.statusCode = 101;
    this.headersSent = true;
    this.writableFinished = true;
    this.#hasEnded = true;
  }

  /** The connection is closed. */
  lost(): void {
    if (this.closed) return;
    this.destroyed = true;
    this.#close();
  }

  get #isOver(): boolean {
    return this.#hasEnded || this.destroyed || this.closed;
  }

  /** Counts bytes of an announced length; a longer body ends the connection, and is not written. */
  #count(bytes: number): boolean {
    if (this.#framing !== 'length') return true;
    this.#missing -= bytes;
    if (this.#missing < 0) this.destroy();
    return this.#missing >= 0;
  }

  #takeHead(): string {
    const head = this.#unsentHead;
    this.#unsentHead = '';
    return head;
  }

  /** Closes the connection for undefined: the body does not have the announced size, and its framing would be wrong. */
  #writeJoined(bytes: Buffer | undefined, whenWritten?: WriteCallback): void {
    if (bytes) this.#connection.socket.write(bytes, whenWritten);
    else this.destroy();
  }

  #writeSeveral(before: string, pieces: readonly BodyPiece[], after: string, whenWritten?: WriteCallback): void {
    const { socket } = this.#connection;
    socket.cork();
    if (before !== '') socket.write(before, 'latin1');
    for (const piece of pieces) socket.write(piece);
    socket.write(after, 'latin1', whenWritten);
    socket.uncork();
  }

  readonly #whenWritten: WriteCallback = (error) => {
    if (error || this.closed) return;
    this.writableFinished = true;
    this.#close();
    this.#connection.responseEnded();
  };

  #close(): void {
    this.closed = true;
    this.onDrain = undefined;
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const listener of listeners) listener();
  }
}

type WriteCallback = (error?: Error | null) => void;

/** Cache of field names of responses. */
const names = new FieldNames();

function checkField(name: string, value: string): void {
  if (name === 'transfer-encoding') throw new Error("The transfer coding is the connection's own.");
  if (names.lowerCase(name) === name && isFieldText(value)) return;
  throw new Error(`The name or the value of the header ${name} has a character that cannot be sent.`);
}

function fieldLines(fields: Readonly<Record<string, string>> = {}): string {
  let text = '';
  for (const name in fields) {
    const value = fields[name] as string;
    checkField(name, value);
    text += `${name}: ${value}\r\n`;
  }
  return text;
}

/** Whether all pieces are text, with as many characters as bytes. */
function isAscii(pieces: readonly BodyPiece[], bytes: number): boolean {
  let characters = 0;
  for (const piece of pieces) {
    if (typeof piece !== 'string') return false;
    characters += piece.length;
  }
  return characters === bytes;
}

/** The pieces between two texts of one byte a character, as one buffer; undefined if their size is not `bytes`. */
function joined(before: string, pieces: readonly BodyPiece[], bytes: number, after: string): Buffer | undefined {
  const buffer = Buffer.allocUnsafe(before.length + bytes + after.length);
  let at = buffer.write(before, 0, 'latin1');
  for (const piece of pieces) {
    if (typeof piece === 'string') at += buffer.write(piece, at);
    else at += piece.copy(buffer, at);
  }
  if (at !== before.length + bytes) return undefined;
  buffer.write(after, at, 'latin1');
  return buffer;
}
