/** Sizes of sandbox videos: every resolution in every aspect ratio. */

import { lookUp } from '../../../core/plain-objects.ts';
import type { Size } from './h264.ts';

/** The shorter side in pixels. */
const SHORT_SIDES: Record<string, number> = { '480p': 480, '720p': 720, '1080p': 1080 };

const SHAPES: Record<string, [width: number, height: number]> = { '16:9': [16, 9], '9:16': [9, 16], '1:1': [1, 1] };

export const RESOLUTIONS = Object.keys(SHORT_SIDES);
export const ASPECT_RATIOS = Object.keys(SHAPES);
export const SIZES = RESOLUTIONS.flatMap((resolution) =>
  ASPECT_RATIOS.map((ratio) => {
    const { width, height } = sizeOf(resolution, ratio);
    return `${width}x${height}`;
  }),
);

/** Unknown names count as 720p and 16:9. */
export function sizeOf(resolution = '720p', aspectRatio = '16:9'): Size {
  const short = lookUp(SHORT_SIDES, resolution) ?? 720;
  const [across, down] = lookUp(SHAPES, aspectRatio) ?? [16, 9];
  const side = (share: number): number => 2 * Math.round((short * share) / Math.min(across, down) / 2);
  return { width: side(across), height: side(down) };
}
