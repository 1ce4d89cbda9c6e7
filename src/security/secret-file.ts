/** Secret files, as Docker, Kubernetes and systemd mount them: regular, bounded, in UTF-8, without the newline at their end. */

import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

const MAX_SECRET_BYTES = 64 * 1024;

/** Throws an error whose message is the reason, without anything of the content. */
export function readSecretFile(path: string, maxBytes = MAX_SECRET_BYTES): string {
  // Without blocking: a pipe without a writer would hold up the program.
  const descriptor = open(path);
  try {
    if (!fstatSync(descriptor).isFile()) throw new Error('is not a regular file');
    const text = decode(readBounded(descriptor, maxBytes)).replace(/\r?\n$/, '');
    if (text === '') throw new Error('is empty');
    return text;
  } finally {
    closeSync(descriptor);
  }
}

function open(path: string): number {
  try {
    return openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`, { cause: error });
  }
}

function readBounded(descriptor: number, maxBytes: number): Buffer {
  const buffer = Buffer.alloc(maxBytes + 1);
  let length = 0;
  for (let read = 1; read > 0 && length < buffer.length; length += read) {
    read = readSync(descriptor, buffer, length, buffer.length - length, null);
  }
  if (length > maxBytes) throw new Error(`is larger than ${maxBytes / 1024} KiB`);
  return buffer.subarray(0, length);
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new Error('is not text in UTF-8', { cause: error });
  }
}
