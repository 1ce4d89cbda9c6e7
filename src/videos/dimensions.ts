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
const SHORT_SIDES: Record<string, number> = { '1k': 1080, '2k': 1440, '4k': 2160 };
/** Encoders want even sides, so that ratios are met nearly. */
const TOLERANCE = 0.02;

/**
 * What is asked for in the model's own spelling, completed by its defaults. Throws `unsupported_parameter_value` for what it
 * cannot make and `invalid_request` for a contradiction.
 */
export function chooseDimensions(asked: Dimensions, abilities: VideoAbilities, model: string): Dimensions {
  if (asked.size !== undefined) return chooseBySize(asked, asked.size, abilities, model);
  const { resolution, aspectRatio, size } = { ...abilities.defaults, ...defined(asked) };
  if (asked.resolution === undefined && asked.aspectRatio === undefined)
    return defined({ resolution, aspectRatio, size });
  if (!abilities.resolutions && !abilities.aspectRatios && abilities.sizes) {
    const wanted = { resolution, aspectRatio };
    return {
      size: abilities.sizes.find((candidate) => agrees(candidate, wanted)) ?? refuseBoth(asked, abilities, model),
    };
  }
  return defined({
    resolution:
      asked.resolution === undefined
        ? resolution
        : listed('resolution', asked.resolution, abilities.resolutions, model),
    aspectRatio:
      asked.aspectRatio === undefined
        ? aspectRatio
        : listed('aspect_ratio', asked.aspectRatio, abilities.aspectRatios, model),
  });
}

/** Pixels, where they can be told. */
export function sizeOf({ resolution, aspectRatio, size }: Dimensions): string | undefined {
  if (size !== undefined) return size;
  const short = shortSide(resolution);
  const ratio = ratioOf(aspectRatio);
  if (short === undefined || ratio === undefined) return undefined;
  const long = 2 * Math.round((short * Math.max(ratio, 1 / ratio)) / 2);
  return ratio >= 1 ? `${long}x${short}` : `${short}x${long}`;
}

function chooseBySize(asked: Dimensions, size: string, abilities: VideoAbilities, model: string): Dimensions {
  const { resolution, aspectRatio } = asked;
  if (!agrees(size, { resolution, aspectRatio })) {
    const other = agrees(size, { resolution }) ? `aspect_ratio ${aspectRatio}` : `resolution ${resolution}`;
    refuse('size', `${size} contradicts ${other}; give one of them.`);
  }
  const { sizes, resolutions, aspectRatios } = abilities;
  if (sizes) return { size: listed('size', size, sizes, model) };
  const fitting = {
    resolution: resolutions?.find((candidate) => agrees(size, { resolution: candidate })),
    aspectRatio: aspectRatios?.find((candidate) => agrees(size, { aspectRatio: candidate })),
  };
  const complete = fitting.resolution !== undefined || fitting.aspectRatio !== undefined;
  if (!complete || (resolutions && !fitting.resolution) || (aspectRatios && !fitting.aspectRatio)) {
    refuseValue({ param: 'size', value: size, allowed: sizesOf(abilities), model });
  }
  return defined(fitting);
}

function refuseBoth(asked: Dimensions, abilities: VideoAbilities, model: string): never {
  const [param, value] =
    asked.resolution === undefined ? ['aspect_ratio', asked.aspectRatio] : ['resolution', asked.resolution];
  return refuseValue({ param: param as string, value, allowed: abilities.sizes, model });
}

function listed(param: string, value: string, allowed: readonly string[] | undefined, model: string): string {
  const found = allowed?.find((candidate) => candidate.toLowerCase() === value.toLowerCase());
  return found ?? refuseValue({ param, value, allowed, model });
}

/** All sizes that a model's resolutions and ratios make. */
function sizesOf({ resolutions = [], aspectRatios = [] }: VideoAbilities): string[] {
  const all = resolutions.flatMap((resolution) =>
    aspectRatios.map((aspectRatio) => sizeOf({ resolution, aspectRatio })),
  );
  return all.filter((size) => size !== undefined);
}

/** Whether a size is of the resolution and ratio, as far as they are given and mean anything. */
function agrees(size: string, { resolution, aspectRatio }: Dimensions): boolean {
  const [width = 0, height = 0] = size.split('x').map(Number);
  const short = shortSide(resolution);
  const ratio = ratioOf(aspectRatio);
  if (short !== undefined && Math.min(width, height) !== short) return false;
  return ratio === undefined || Math.abs(width / height / ratio - 1) <= TOLERANCE;
}

function shortSide(resolution: string | undefined): number | undefined {
  const name = resolution?.toLowerCase() ?? '';
  const lines = /^(\d+)p$/.exec(name)?.[1];
  return lines === undefined ? SHORT_SIDES[name] : Number(lines);
}

function ratioOf(aspectRatio: string | undefined): number | undefined {
  const match = /^(\d+):(\d+)$/.exec(aspectRatio ?? '');
  const ratio = match ? Number(match[1]) / Number(match[2]) : Number.NaN;
  return Number.isFinite(ratio) && ratio > 0 ? ratio : undefined;
}
