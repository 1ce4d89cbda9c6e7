/** MP4 duration: read from the movie header without reading the rest of the file. */

import { type FileHandle, open } from 'node:fs/promises';

interface Box {
  type: string;
  /** Offsets of the content in the file. */
  start: number;
  end: number;
}

/** Limit of boxes before the movie header; real files have far fewer. */
const MAX_BOXES = 1000;

/** Fractional seconds; undefined if the file does not contain its duration. */
export async function durationOf(path: string): Promise<number | undefined> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const movie = await findBox(file, 'moov', { start: 0, end: size });
    const header = movie && (await findBox(file, 'mvhd', movie));
    return header && readHeader(await readAt(file, header.start, 32));
  } finally {
    await file.close();
  }
}

async function findBox(file: FileHandle, type: string, within: Omit<Box, 'type'>): Promise<Box | undefined> {
  let position = within.start;
  for (let count = 0; count < MAX_BOXES && position + 8 <= within.end; count++) {
    const box = readBox(await readAt(file, position, 16), position, within.end);
    if (!box) return undefined;
    if (box.type === type) return box;
    position = box.end;
  }
  return undefined;
}

/** Size 1: a 64-bit size follows the type. Size 0: the box extends to the end of its parent. */
function readBox(bytes: Buffer, position: number, limit: number): Box | undefined {
  if (bytes.length < 8) return undefined;
  const type = bytes.toString('latin1', 4, 8);
  const short = bytes.readUInt32BE(0);
  if (short === 1 && bytes.length < 16) return undefined;
  const headerSize = short === 1 ? 16 : 8;
  const size = short === 1 ? Number(bytes.readBigUInt64BE(8)) : short || limit - position;
  const end = position + size;
  if (size < headerSize || end > limit) return undefined;
  return { type, start: position + headerSize, end };
}

/** Layout: version and flags, two timestamps, time scale (units per second), duration. Version 1 has 64-bit timestamps and duration. */
function readHeader(bytes: Buffer): number | undefined {
  if (bytes.length < 32) return undefined;
  const isLong = bytes[0] === 1;
  const scale = bytes.readUInt32BE(isLong ? 20 : 12);
  const duration = isLong ? Number(bytes.readBigUInt64BE(24)) : bytes.readUInt32BE(16);
  const isUnknown = duration === (isLong ? Number(0xffff_ffff_ffff_ffffn) : 0xffff_ffff);
  return scale === 0 || duration === 0 || isUnknown ? undefined : duration / scale;
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}
