/** Video dimensions: converts between `size` and `resolution` with `aspect_ratio`, from the caller's spelling to the model's. */

import { defined } from '../core/plain-objects.ts';
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

/** Shorter side of the resolutions named by their longer side. */
const SHORT_SIDE_OF_K: Record<string, number> = { '1k': 1080, '2k': 1440, '4k': 2160 };
/** Shorter sides that have a resolution name. */
const STANDARD_SHORT_SIDES = [360, 480, 540, 720, 768, 1080, 1440, 2160];
/** Sides are rounded to even numbers, so ratios match approximately. */
const RATIO_TOLERANCE = 0.02;

/**
 * The requested dimensions in the model's spelling; the model chooses the others. Throws `unsupported_parameter_value`
 * for unsupported dimensions and `invalid_request` for contradictory ones.
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

/** Expected dimensions of the video, as far as known, with the model's defaults for dimensions that were not requested. */
export function expectedDimensions(
  { resolution, aspectRatio, size }: Dimensions,
  { defaults = {} }: VideoAbilities,
): Dimensions {
  const pixels = size ?? ((resolution ?? aspectRatio) === undefined ? defaults.size : undefined);
  if (pixels !== undefined) return defined({ size: pixels, resolution: resolutionOf(pixels) });
  const known = { resolution: resolution ?? defaults.resolution, aspectRatio: aspectRatio ?? defaults.aspectRatio };
  return defined({ ...known, size: pixelsOf(known) });
}

/** Undefined unless both are known. */
export function pixelsOf({ resolution, aspectRatio }: Dimensions): string | undefined {
  const short = shortSide(resolution);
  const ratio = ratioOf(aspectRatio);
  if (short === undefined || ratio === undefined) return undefined;
  const long = 2 * Math.round((short * Math.max(ratio, 1 / ratio)) / 2);
  return ratio >= 1 ? `${long}x${short}` : `${short}x${long}`;
}

/** E.g. `720p` for `1280x720`. */
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

/** All combinations of a model's resolutions and ratios. */
function sizesOf({ resolutions = [], aspectRatios = [] }: VideoAbilities): string[] {
  const all = resolutions.flatMap((resolution) =>
    aspectRatios.map((aspectRatio) => pixelsOf({ resolution, aspectRatio })),
  );
  return all.filter((size) => size !== undefined);
}

/** Whether a size has the resolution and the ratio, as far as these are given and known. */
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

/** Names of a resolution in prices: in lower case, by its lines and by its thousands of columns. */
export function resolutionNames(resolution: string): string[] {
  const short = shortSide(resolution);
  const inK = Object.keys(SHORT_SIDE_OF_K).filter((name) => SHORT_SIDE_OF_K[name] === short);
  return [resolution.toLowerCase(), ...(short === undefined ? [] : [`${short}p`, ...inK])];
}

function ratioOf(aspectRatio: string | undefined): number | undefined {
  const match = /^(\d+):(\d+)$/.exec(aspectRatio ?? '');
  const ratio = match ? Number(match[1]) / Number(match[2]) : Number.NaN;
  return Number.isFinite(ratio) && ratio > 0 ? ratio : undefined;
}
