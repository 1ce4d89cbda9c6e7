/** How large a video is: `size` on one side, `resolution` and `aspect_ratio` on the other, as the caller and the model spell it. */

import { defined } from '../core/defined.ts';
import type { VideoAbilities } from '../core/video.ts';
import { refuse, refuseValue } from './refusal.ts';

export interface Dimensions {
  /** E.g. `720p`, `4K`. */
  resolution?: string;
  /** E.g. `16:9`. */
  aspectRatio?: string;
  /** `<width>x<height>`. */
  size?: string;
}

/** The shorter side of resolutions that are named by their longer one. */
const SHORT_SIDE_OF_K: Record<string, number> = { '1k': 1080, '2k': 1440, '4k': 2160 };
/** Sides that have a name as resolutions. */
const STANDARD_SHORT_SIDES = [360, 480, 540, 720, 768, 1080, 1440, 2160];
/** Encoders want even sides, so that ratios are met nearly. */
const RATIO_TOLERANCE = 0.02;

/**
 * What is asked for in the model's own spelling; what is not asked for is left to it. Throws `unsupported_parameter_value`
 * for what it cannot make and `invalid_request` for a contradiction.
 */
export function chooseDimensions(asked: Dimensions, abilities: VideoAbilities, model: string): Dimensions {
  const { resolution, aspectRatio, size } = asked;
  const { resolutions, aspectRatios, sizes, defaults } = abilities;
  if (size !== undefined) return chooseBySize(asked, size, abilities, model);
  if (resolution === undefined && aspectRatio === undefined) return {};
  if (!resolutions && !aspectRatios && sizes) {
    const wanted = { ...defaults, ...defined(asked) };
    return {
      size: sizes.find((candidate) => matchesSize(candidate, wanted)) ?? refuseDimensions(asked, abilities, model),
    };
  }
  return defined({
    resolution: resolution && requireListed('resolution', resolution, resolutions, model),
    aspectRatio: aspectRatio && requireListed('aspect_ratio', aspectRatio, aspectRatios, model),
  });
}

/** What a video will measure as far as that can be told: the model's defaults stand in for what it was not asked. */
export function expectedDimensions(
  { resolution, aspectRatio, size }: Dimensions,
  { defaults = {} }: VideoAbilities,
): Dimensions {
  const pixels = size ?? ((resolution ?? aspectRatio) === undefined ? defaults.size : undefined);
  if (pixels !== undefined) return defined({ size: pixels, resolution: resolutionOf(pixels) });
  const known = { resolution: resolution ?? defaults.resolution, aspectRatio: aspectRatio ?? defaults.aspectRatio };
  return defined({ ...known, size: pixelsOf(known) });
}

function pixelsOf({ resolution, aspectRatio }: Dimensions): string | undefined {
  const short = shortSide(resolution);
  const ratio = ratioOf(aspectRatio);
  if (short === undefined || ratio === undefined) return undefined;
  const long = 2 * Math.round((short * Math.max(ratio, 1 / ratio)) / 2);
  return ratio >= 1 ? `${long}x${short}` : `${short}x${long}`;
}

/** `1280x720` is 720p. */
function resolutionOf(size: string): string | undefined {
  const short = Math.min(...size.split('x').map(Number));
  return STANDARD_SHORT_SIDES.includes(short) ? `${short}p` : undefined;
}

function chooseBySize(asked: Dimensions, size: string, abilities: VideoAbilities, model: string): Dimensions {
  const { resolution, aspectRatio } = asked;
  if (!matchesSize(size, { resolution, aspectRatio })) {
    const other = matchesSize(size, { resolution }) ? `aspect_ratio ${aspectRatio}` : `resolution ${resolution}`;
    refuse('size', `${size} contradicts ${other}; give one of them.`);
  }
  const { sizes, resolutions, aspectRatios } = abilities;
  if (sizes) return { size: requireListed('size', size, sizes, model) };
  const fitting = {
    resolution: resolutions?.find((candidate) => matchesSize(size, { resolution: candidate })),
    aspectRatio: aspectRatios?.find((candidate) => matchesSize(size, { aspectRatio: candidate })),
  };
  const complete = fitting.resolution !== undefined || fitting.aspectRatio !== undefined;
  if (!complete || (resolutions && !fitting.resolution) || (aspectRatios && !fitting.aspectRatio)) {
    refuseValue({ param: 'size', value: size, allowed: sizesOf(abilities), model });
  }
  return defined(fitting);
}

function refuseDimensions(asked: Dimensions, abilities: VideoAbilities, model: string): never {
  const [param, value] =
    asked.resolution === undefined ? ['aspect_ratio', asked.aspectRatio] : ['resolution', asked.resolution];
  return refuseValue({ param: param as string, value, allowed: abilities.sizes, model });
}

function requireListed(param: string, value: string, allowed: readonly string[] | undefined, model: string): string {
  const found = allowed?.find((candidate) => candidate.toLowerCase() === value.toLowerCase());
  return found ?? refuseValue({ param, value, allowed, model });
}

/** All sizes that a model's resolutions and ratios make. */
function sizesOf({ resolutions = [], aspectRatios = [] }: VideoAbilities): string[] {
  const all = resolutions.flatMap((resolution) =>
    aspectRatios.map((aspectRatio) => pixelsOf({ resolution, aspectRatio })),
  );
  return all.filter((size) => size !== undefined);
}

/** Whether a size is of the resolution and ratio, as far as they are given and mean anything. */
function matchesSize(size: string, { resolution, aspectRatio }: Dimensions): boolean {
  const [width = 0, height = 0] = size.split('x').map(Number);
  const short = shortSide(resolution);
  const ratio = ratioOf(aspectRatio);
  if (short !== undefined && Math.min(width, height) !== short) return false;
  return ratio === undefined || Math.abs(width / height / ratio - 1) <= RATIO_TOLERANCE;
}

function shortSide(resolution: string | undefined): number | undefined {
  const name = resolution?.toLowerCase() ?? '';
  const lines = /^(\d+)p$/.exec(name)?.[1];
  return lines === undefined ? SHORT_SIDE_OF_K[name] : Number(lines);
}

function ratioOf(aspectRatio: string | undefined): number | undefined {
  const match = /^(\d+):(\d+)$/.exec(aspectRatio ?? '');
  const ratio = match ? Number(match[1]) / Number(match[2]) : Number.NaN;
  return Number.isFinite(ratio) && ratio > 0 ? ratio : undefined;
}
