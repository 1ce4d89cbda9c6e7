/** MP4 writer (ISO/IEC 14496-12 and -15) for H.264 frames, with the index at the start, so that playback can begin before the download ends. */

import type { Size } from './h264.ts';

export interface Track {
  size: Size;
  /** Parameter sets. */
  sequence: Buffer;
  picture: Buffer;
  /** Frames in order; `data` is one NAL unit. */
  frames: { data: Buffer; key: boolean }[];
  framesPerSecond: number;
}

/** Size of the length field before each NAL unit. */
const LENGTH_BYTES = 4;
const TICKS_PER_FRAME = 1000;
const UNITY = [0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000];

export function mp4(track: Track): Buffer {
  const media = track.frames.map(({ data }) => Buffer.concat([u32(data.length), data]));
  const type = box('ftyp', Buffer.from('isom'), u32(0x200), Buffer.from('isomiso2avc1mp41'));
  const indexLength = index(track, 0).length;
  const start = type.length + indexLength + 8;
  return Buffer.concat([type, index(track, start), box('mdat', ...media)]);
}

/** `start` is the file offset of the first frame. */
function index(track: Track, start: number): Buffer {
  const timescale = track.framesPerSecond * TICKS_PER_FRAME;
  const duration = track.frames.length * TICKS_PER_FRAME;
  return box(
    'moov',
    full('mvhd', 0, u32(0, 0, timescale, duration, 0x10000), u16(0x100, 0), u32(0, 0, ...UNITY, 0, 0, 0, 0, 0, 0, 2)),
    box('trak', trackHeader(track, duration), media(track, { timescale, duration, start })),
  );
}

function trackHeader({ size }: Track, duration: number): Buffer {
  const shown = 7;
  const pixels = [size.width << 16, size.height << 16];
  return full('tkhd', shown, u32(0, 0, 1, 0, duration, 0, 0, 0, 0, ...UNITY, ...pixels));
}

function media(
  track: Track,
  { timescale, duration, start }: Record<'timescale' | 'duration' | 'start', number>,
): Buffer {
  const undetermined = 0x55c4;
  const here = 1;
  return box(
    'mdia',
    full('mdhd', 0, u32(0, 0, timescale, duration), u16(undetermined, 0)),
    full('hdlr', 0, u32(0), Buffer.from('vide'), u32(0, 0, 0), Buffer.from('Video\0')),
    box(
      'minf',
      full('vmhd', 1, u16(0, 0, 0, 0)),
      box('dinf', full('dref', 0, u32(1), full('url ', here))),
      samples(track, start),
    ),
  );
}

function samples(track: Track, start: number): Buffer {
  const { frames } = track;
  const keys = frames.flatMap(({ key }, position) => (key ? [position + 1] : []));
  return box(
    'stbl',
    full('stsd', 0, u32(1), description(track)),
    full('stts', 0, u32(1, frames.length, TICKS_PER_FRAME)),
    full('stss', 0, u32(keys.length, ...keys)),
    full('stsc', 0, u32(1, 1, frames.length, 1)),
    full('stsz', 0, u32(0, frames.length, ...frames.map(({ data }) => data.length + LENGTH_BYTES))),
    full('stco', 0, u32(1, start)),
  );
}

function description({ size, sequence, picture }: Track): Buffer {
  const [, profile = 0, constraints = 0, level = 0] = sequence;
  const configuration = box(
    'avcC',
    Buffer.from([1, profile, constraints, level, 0xfc | (LENGTH_BYTES - 1), 0xe0 | 1]),
    u16(sequence.length),
    sequence,
    Buffer.from([1]),
    u16(picture.length),
    picture,
  );
  const dotsPerInch = 72 << 16;
  return box(
    'avc1',
    u16(0, 0, 0, 1),
    u32(0, 0, 0, 0),
    u16(size.width, size.height),
    u32(dotsPerInch, dotsPerInch, 0),
    u16(1),
    Buffer.alloc(32),
    u16(24, 0xffff),
    configuration,
  );
}

function box(type: string, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([u32(content.length + 8), Buffer.from(type), content]);
}

/** Full box: version 0, and flags. */
function full(type: string, flags: number, ...parts: Buffer[]): Buffer {
  return box(type, u32(flags), ...parts);
}

function u32(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [position, value] of values.entries()) bytes.writeUInt32BE(value, position * 4);
  return bytes;
}

function u16(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2);
  for (const [position, value] of values.entries()) bytes.writeUInt16BE(value, position * 2);
  return bytes;
}
