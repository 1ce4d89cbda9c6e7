/** Content of sandbox videos: a bar that grows every second, on a background whose colour depends on the request. */

import {
  type Colour,
  keyFrame,
  type Picture,
  pictureParameters,
  repeatedFrame,
  type Size,
  sequenceParameters,
} from './h264.ts';
import { mp4 } from './mp4.ts';

export interface Film {
  size: Size;
  seconds: number;
  /** Integer that selects the colour. */
  shade: number;
}

const FRAMES_PER_SECOND = 24;

const BAR: Colour = [210, 128, 128];
const GROUNDS: readonly Colour[] = [
  [60, 170, 110],
  [70, 110, 170],
  [80, 100, 90],
  [90, 150, 170],
  [70, 160, 80],
  [110, 90, 150],
];

/** An MP4 file. */
export function film({ size, seconds, shade }: Film): Buffer {
  const ground = GROUNDS[shade % GROUNDS.length] ?? BAR;
  const frames = Array.from({ length: seconds }, (_, second) => [
    { data: keyFrame(size, barOf((second + 1) / seconds, size, ground), second % 2 === 0 ? 0 : 1), key: true },
    ...Array.from({ length: FRAMES_PER_SECOND - 1 }, (_, rest) => ({
      data: repeatedFrame(size, rest + 1),
      key: false,
    })),
  ]).flat();
  return mp4({
    size,
    sequence: sequenceParameters(size),
    picture: pictureParameters(),
    frames,
    framesPerSecond: FRAMES_PER_SECOND,
  });
}

function barOf(share: number, { width, height }: Size, ground: Colour): Picture {
  const end = Math.round((width / 16) * share);
  const top = Math.floor(height / 16 / 2) - 1;
  return (column, row) => (column < end && (row === top || row === top + 1) ? BAR : ground);
}
