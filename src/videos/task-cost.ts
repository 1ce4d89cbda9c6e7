/** Cost of a task: as reported by the upstream, otherwise by the catalog prices at its creation. */

import { moneyOf, priceOfPieces } from '../core/money.ts';
import { boundCost, boundCount, plausibleCost } from '../core/usage-bounds.ts';
import type { VideoCharge } from '../core/video.ts';
import type { LedgerEntry, TaskAsset, VideoDetails, VideoTask } from '../records/video-task.ts';
import { pixelsOf, resolutionNames } from './dimensions.ts';

export type TaskCost = Pick<LedgerEntry, 'seconds' | 'cost' | 'source'>;

/** Cost of a completed task. Seconds are at least one per video. */
export function costOfCompleted(details: VideoDetails, charge: VideoCharge, assets: readonly TaskAsset[]): TaskCost {
  const count = Math.max(1, assets.length);
  const seconds = secondsOf(details, charge, assets, count);
  const reported = reportedCost(charge);
  if (reported !== undefined) return { seconds, cost: reported, source: 'upstream' };
  const cost = catalogCost(details, { seconds, count, tokens: charge.tokens });
  return cost === undefined ? { seconds, cost: 0n, source: 'none' } : { seconds, cost, source: 'catalog' };
}

/** Upper bound of the cost by the catalog; undefined without prices. */
export function maxExpectedCost(details: VideoDetails): bigint | undefined {
  const { longest = 1, duration = longest, count, size = largestSize(details) } = details;
  const [width = 0, height = 0] = size.split('x').map(Number);
  const seconds = Math.max(1, duration) * count;
  const tokens = Math.ceil((width * height * FRAMES_PER_SECOND * seconds) / PIXELS_PER_TOKEN);
  return catalogCost(withDearestResolution(details), { seconds, count, tokens });
}

/** Details with the highest price per second in place of the plain one, where the resolution is not known. */
function withDearestResolution(details: VideoDetails): VideoDetails {
  const { prices = {}, resolution } = details;
  const plain = [PER_SECOND, `${PER_SECOND}-audio`].filter((name) => prices[name] !== undefined);
  const highest = resolution === undefined ? highestPerSecond(details) : undefined;
  if (highest === undefined) return details;
  return { ...details, prices: Object.assign({}, prices, Object.fromEntries(plain.map((name) => [name, highest]))) };
}

/** Size of a video whose shape the provider chooses. */
function largestSize({ resolution }: VideoDetails): string {
  return pixelsOf({ resolution, aspectRatio: WIDEST_RATIO }) ?? ASSUMED_SIZE;
}

const WIDEST_RATIO = '21:9';
const ASSUMED_SIZE = '1920x1080';
const PER_SECOND = 'per-video-second';
const FRAMES_PER_SECOND = 24;
const PIXELS_PER_TOKEN = 1024;

/** Cost of a task that ended without a video: whatever the upstream charged. */
export function costWithoutVideo(charge: VideoCharge): TaskCost {
  const cost = reportedCost(charge);
  return { seconds: 0, cost: cost ?? 0n, source: cost === undefined ? 'none' : 'upstream' };
}

export function ledgerEntry(task: VideoTask, provider: string, bill: TaskCost, createdAt: number): LedgerEntry {
  return { taskId: task.id, owner: task.owner, model: task.model, provider, ...bill, createdAt };
}

function secondsOf(
  { longest = 1, duration = longest, count }: VideoDetails,
  { seconds }: VideoCharge,
  assets: readonly TaskAsset[],
  videos: number,
): number {
  if (seconds !== undefined) return Math.max(1, boundCount(seconds) ?? 1);
  const measured = assets.map(({ kept }) => kept?.seconds);
  if (assets.length > 0 && measured.every((length) => length !== undefined)) {
    return measured.reduce((sum, length) => sum + Math.max(1, boundCount(length) ?? 1), 0);
  }
  return Math.max(1, duration) * (assets.length > 0 ? videos : count);
}

/** Undefined for an implausible amount. */
function reportedCost({ cost }: VideoCharge): bigint | undefined {
  if (cost === undefined) return undefined;
  try {
    return plausibleCost(moneyOf(cost));
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

interface Amounts {
  seconds: number;
  count: number;
  tokens?: number;
}

/** The most specific price per second or per token, plus the price per video; the highest price per second where none of these is known. */
function catalogCost(details: VideoDetails, { seconds, count, tokens }: Amounts): bigint | undefined {
  const { prices = {}, resolution } = details;
  // Models that support audio generate it unless it is disabled.
  const audioSuffixes = details.audio === false ? [''] : ['-audio', ''];
  const resolutions = resolution === undefined ? [] : resolutionNames(resolution);
  const find = (names: string[]) => names.map((name) => prices[name]).find((price) => price !== undefined);
  const perSecond = find([
    ...audioSuffixes.flatMap((end) => resolutions.map((name) => `per-video-second-${name}${end}`)),
    ...audioSuffixes.map((end) => `per-video-second${end}`),
  ]);
  const perToken = tokens === undefined ? undefined : find(audioSuffixes.map((end) => `per-video-token${end}`));
  const parts: [string | undefined, number][] = [
    [perSecond, seconds],
    [perToken, tokens ?? 0],
    [prices['per-video'], count],
  ];
  const known = parts.filter((part): part is [string, number] => part[0] !== undefined);
  if (known.length === 0) {
    const highest = highestPerSecond(details);
    if (highest === undefined) return undefined;
    known.push([highest, seconds]);
  }
  return boundCost(known.reduce((sum, [price, amount]) => sum + priceOfPieces(boundCount(amount) ?? 0, price), 0n));
}

/** For a resolution that is not known, or has no price. */
function highestPerSecond({ prices = {}, audio }: VideoDetails): string | undefined {
  const all = Object.keys(prices).filter((name) => name.startsWith(PER_SECOND));
  const silent = all.filter((name) => !name.endsWith('-audio'));
  const names = audio === false && silent.length > 0 ? silent : all;
  const isHigher = (one: string, other: string) => priceOfPieces(1, one) > priceOfPieces(1, other);
  return names
    .flatMap((name) => prices[name] ?? [])
    .reduce<string | undefined>(
      (highest, price) => (!highest || isHigher(price, highest) ? price : highest),
      undefined,
    );
}
