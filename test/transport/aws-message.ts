/** Encodes messages of the AWS event stream, by its published format. */

import { crc32 } from 'node:zlib';

/** `first` are further headers, encoded, which stand before those of strings. */
export function awsMessage(headers: Record<string, string>, payload: Buffer | string, first?: Buffer): Buffer {
  const strings = Object.entries(headers).map(([name, value]) => {
    const length = Buffer.alloc(3);
    length.writeUInt8(7);
    length.writeUInt16BE(Buffer.byteLength(value), 1);
    return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), length, Buffer.from(value)]);
  });
  const fields = Buffer.concat([first ?? Buffer.alloc(0), ...strings]);
  const body = Buffer.from(payload);
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(16 + fields.length + body.length);
  prelude.writeUInt32BE(fields.length, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const message = Buffer.concat([prelude, fields, body]);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(message));
  return Buffer.concat([message, checksum]);
}

/** A message that wraps an event, as InvokeModel sends it. */
export function awsChunk(event: object): Buffer {
  const bytes = Buffer.from(JSON.stringify(event)).toString('base64');
  const headers = { ':event-type': 'chunk', ':content-type': 'application/json', ':message-type': 'event' };
  return awsMessage(headers, JSON.stringify({ bytes, p: 'abcdefghij' }));
}

export function awsException(type: string, message: string): Buffer {
  const headers = { ':exception-type': type, ':content-type': 'application/json', ':message-type': 'exception' };
  return awsMessage(headers, JSON.stringify({ message }));
}
