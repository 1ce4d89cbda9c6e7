/** Reads MP4 files on its own, to see what the sandbox wrote. */

import assert from 'node:assert/strict';

export interface Box {
  type: string;
  start: number;
  content: Buffer;
}

/** The boxes that follow each other in some bytes, which they must fill to the end. */
export function boxes(bytes: Buffer): Box[] {
  const found: Box[] = [];
  let start = 0;
  while (start < bytes.length) {
    const size = bytes.readUInt32BE(start);
    assert.ok(size >= 8 && start + size <= bytes.length, `a box of ${size} bytes at ${start} of ${bytes.length}`);
    const type = bytes.toString('latin1', start + 4, start + 8);
    found.push({ type, start, content: bytes.subarray(start + 8, start + size) });
    start += size;
  }
  return found;
}

/** The content of the only box at a path like `moov/trak/tkhd`. */
export function at(bytes: Buffer, path: string): Buffer {
  return path.split('/').reduce((inside, type) => {
    const [box, ...others] = boxes(inside).filter((each) => each.type === type);
    assert.ok(box && others.length === 0, `one ${type} in ${path}`);
    return box.content;
  }, bytes);
}

/** The numbers of a table behind its version, flags and so many bytes. */
export function table(content: Buffer, skip: number): number[] {
  const rest = content.subarray(4 + skip);
  return Array.from({ length: rest.length / 4 }, (_, index) => rest.readUInt32BE(index * 4));
}

export interface Movie {
  seconds: number;
  width: number;
  height: number;
  /** Payloads of the video's units, without what stands in them only to keep them apart. */
  frames: { type: number; key: boolean; payload: Buffer }[];
}

const LENGTH_BYTES = 4;

export function readMovie(file: Buffer): Movie {
  assert.deepEqual(
    boxes(file).map((box) => box.type),
    ['ftyp', 'moov', 'mdat'],
    'the index stands before the media',
  );
  const header = at(file, 'moov/mvhd');
  const track = at(file, 'moov/trak/tkhd');
  const media = at(file, 'moov/trak/mdia/mdhd');
  const samples = at(file, 'moov/trak/mdia/minf/stbl');
  const [timescale = 0, duration = 0] = [header.readUInt32BE(12), header.readUInt32BE(16)];
  assert.equal(track.readUInt32BE(20), duration);
  assert.deepEqual([media.readUInt32BE(12), media.readUInt32BE(16)], [timescale, duration]);
  const [, count = 0, delta = 0] = table(at(samples, 'stts'), 0);
  assert.equal(count * delta, duration);
  const sizes = table(at(samples, 'stsz'), 8);
  const keys = new Set(table(at(samples, 'stss'), 4));
  const [offset = 0] = table(at(samples, 'stco'), 4);
  const mdat = boxes(file).find((box) => box.type === 'mdat');
  assert.equal(offset, (mdat?.start ?? 0) + 8);
  assert.equal(
    sizes.reduce((sum, size) => sum + size, 0),
    mdat?.content.length,
  );
  return {
    seconds: duration / timescale,
    width: track.readUInt32BE(76) / 65_536,
    height: track.readUInt32BE(80) / 65_536,
    frames: readFrames(file, offset, sizes).map((frame, index) => ({ ...frame, key: keys.has(index + 1) })),
  };
}

function readFrames(file: Buffer, offset: number, sizes: number[]): { type: number; payload: Buffer }[] {
  let position = offset;
  return sizes.map((size) => {
    const unit = file.subarray(position + LENGTH_BYTES, position + size);
    assert.equal(file.readUInt32BE(position), unit.length);
    position += size;
    return { type: (unit[0] ?? 0) & 31, payload: unescaped(unit.subarray(1)) };
  });
}

export function unescaped(bytes: Buffer): Buffer {
  const text = bytes.toString('latin1');
  for (const mark of ['\0\0\0', '\0\0\x01', '\0\0\x02']) assert.ok(!text.includes(mark), 'no start of a unit inside');
  return Buffer.from(text.replaceAll('\0\0\x03', '\0\0'), 'latin1');
}
