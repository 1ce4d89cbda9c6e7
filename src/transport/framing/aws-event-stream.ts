/**
 * AWS event stream: binary messages of headers and a payload, each with two checksums. A message becomes one server-sent
 * event: the event that InvokeModel wraps in base64, else the payload under the name of its type.
 */

import { crc32 } from 'node:zlib';
import { ByteCollector } from '../../core/byte-collector.ts';
import { GatewayError, upstreamMessage } from '../../core/errors.ts';
import { isObject, type Json, parseObject } from '../../core/json/json.ts';
import type { UpstreamErrorResponse } from '../../core/platform.ts';
import type { Framer } from '../../core/sse.ts';

/** Total length, length of the headers, checksum of both. */
const PRELUDE_BYTES = 12;
const CHECKSUM_BYTES = 4;
const MIN_MESSAGE_BYTES = PRELUDE_BYTES + CHECKSUM_BYTES;
/** The format allows a payload of 24 MiB and headers of 128 KiB. */
const MAX_MESSAGE_BYTES = 24 * 1024 * 1024 + 128 * 1024 + MIN_MESSAGE_BYTES;

/** Bytes of a header's value by its type; two types have a length before their value. */
const VALUE_BYTES = [0, 0, 1, 2, 4, 8, undefined, undefined, 8, 16];
const STRING_TYPE = 7;

const EMPTY = Buffer.alloc(0);
const LINE_BREAK = /[\r\n]/;
/** Event that some services send before all others, with the members of the response beside its stream. */
const INITIAL_RESPONSE = 'initial-response';
const EVENT_NAME = /^[\w.-]*$/;
/** Start of an event of the messages protocol. */
const EVENT_TYPE = /^\{"type":"(\w+)"/;

export interface AwsMessage {
  /** The headers whose value is a string. */
  headers: Readonly<Record<string, string>>;
  payload: Buffer;
}

/** `onException` maps an exception in the stream to an error; undefined makes it an error of the upstream. */
export function createAwsEventStreamFramer(
  onException?: (response: UpstreamErrorResponse) => GatewayError | undefined,
): Framer {
  const more = new ByteCollector();
  let pending: Buffer = EMPTY;
  let failure: GatewayError | undefined;

  /** All bytes so far, joined once they complete a prelude or the message that it announces. */
  function gathered(): Buffer {
    const needed = messageLength(pending) ?? PRELUDE_BYTES;
    if (more.size > 0 && pending.length + more.size >= needed) {
      const [last, first] = [more.take(), pending];
      pending = first.length === 0 ? last : Buffer.concat([first, last]);
    }
    return pending;
  }

  function decode(frames: Buffer[]): void {
    let length = messageLength(gathered());
    while (length !== undefined && pending.length >= length) {
      const message = readMessage(pending.subarray(0, length));
      pending = pending.subarray(length);
      const frame = frameOf(message, onException);
      if (frame) frames.push(frame);
      length = messageLength(pending);
    }
  }

  /** Messages before a failure come first. */
  function attempted(): Buffer[] {
    if (failure) throw failure;
    const frames: Buffer[] = [];
    try {
      decode(frames);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      failure = error;
    }
    if (failure && frames.length === 0) throw failure;
    return frames;
  }

  return {
    push(chunk) {
      more.addCopy(chunk);
      return attempted();
    },
    end() {
      if (failure) throw failure;
      if (pending.length + more.size > 0) throw broken('the upstream closed its stream inside a message');
      return [];
    },
    get pending() {
      return pending.length + more.size;
    },
  };
}

/** Undefined until the prelude is there, whose checksum guards the length. */
function messageLength(bytes: Buffer): number | undefined {
  if (bytes.length < PRELUDE_BYTES) return undefined;
  const length = bytes.readUInt32BE(0);
  if (crc32(bytes.subarray(0, 8)) !== bytes.readUInt32BE(8)) throw broken('a prelude has a wrong checksum');
  if (length < MIN_MESSAGE_BYTES || length > MAX_MESSAGE_BYTES) throw broken('a message has an impossible length');
  return length;
}

/** Throws `upstream_error` for a message that is damaged. */
function readMessage(bytes: Buffer): AwsMessage {
  const end = bytes.length - CHECKSUM_BYTES;
  if (crc32(bytes.subarray(0, end)) !== bytes.readUInt32BE(end)) throw broken('a message has a wrong checksum');
  const payloadStart = PRELUDE_BYTES + bytes.readUInt32BE(4);
  if (payloadStart > end) throw broken('the headers of a message are longer than the message');
  return {
    headers: readHeaders(bytes.subarray(PRELUDE_BYTES, payloadStart)),
    payload: bytes.subarray(payloadStart, end),
  };
}

function readHeaders(bytes: Buffer): Record<string, string> {
  const headers: Record<string, string> = {};
  let at = 0;
  try {
    while (at < bytes.length) {
      const nameEnd = at + 1 + bytes.readUInt8(at);
      const name = bytes.toString('latin1', at + 1, nameEnd);
      const type = bytes.readUInt8(nameEnd);
      if (type >= VALUE_BYTES.length) throw broken('a header has an unknown type');
      const fixed = VALUE_BYTES[type];
      const start = nameEnd + (fixed === undefined ? 3 : 1);
      const end = start + (fixed ?? bytes.readUInt16BE(nameEnd + 1));
      if (end > bytes.length) throw broken('a header is cut off');
      if (type === STRING_TYPE) headers[name] = bytes.toString('utf8', start, end);
      at = end;
    }
  } catch (error) {
    if (error instanceof RangeError) throw broken('a header is cut off');
    throw error;
  }
  return headers;
}

function frameOf(
  { headers, payload }: AwsMessage,
  onException?: (response: UpstreamErrorResponse) => GatewayError | undefined,
): Buffer | undefined {
  const kind = headers[':message-type'] ?? 'event';
  if (kind !== 'event') throw exceptionOf(headers, payload, onException);
  const name = headers[':event-type'] ?? '';
  if (name === INITIAL_RESPONSE) return undefined;
  if (!EVENT_NAME.test(name)) throw broken('an event has an impossible name');
  const text = payload.toString('utf8');
  if (name !== 'chunk') return eventFrame(name, text);
  const wrapped: Json = parseObject(text)?.bytes;
  if (typeof wrapped !== 'string') throw broken('a chunk holds no bytes');
  const inner = Buffer.from(wrapped, 'base64').toString('utf8');
  return eventFrame(EVENT_TYPE.exec(inner)?.[1] ?? typeOf(inner), inner);
}

function typeOf(text: string): string {
  const type: Json = parseObject(text)?.type;
  return typeof type === 'string' && /^\w+$/.test(type) ? type : '';
}

function eventFrame(name: string, data: string): Buffer {
  const line = LINE_BREAK.test(data) ? JSON.stringify(parseObject(data)) : data;
  if (line === undefined) throw broken('an event is no JSON object');
  return Buffer.from(`${name === '' ? '' : `event: ${name}\n`}data: ${line}\n\n`);
}

/** The error that ends a stream; it has no status of its own. */
function exceptionOf(
  headers: AwsMessage['headers'],
  payload: Buffer,
  onException?: (response: UpstreamErrorResponse) => GatewayError | undefined,
): GatewayError {
  const type = headers[':exception-type'] ?? headers[':error-code'] ?? '';
  const said = parseObject(payload.toString('utf8'));
  const body: Json = isObject(said) ? said : { message: headers[':error-message'] };
  const decoded = onException?.({ headers: { 'x-amzn-errortype': type }, body });
  if (decoded) return decoded;
  const message = typeof body.message === 'string' ? body.message : 'The upstream broke off its response.';
  return new GatewayError('upstream_error', upstreamMessage(message));
}

function broken(what: string): GatewayError {
  return new GatewayError('upstream_error', `The upstream sent a broken event stream: ${what}.`);
}
