/** Bounds of one usage record: of its counts and its cost, of counts that come in several reports, and of the facts of its response. */

import type { ToolUse, Usage } from './chat.ts';
import { minBigInt, moneyOf } from './money.ts';
import type { AnswerFacts } from './operation.ts';
import type { AskedContainers, ShownUse } from './output.ts';

/** Maximum token count of one record: a hundred times the longest known context. */
export const MAX_RECORD_TOKENS = 1_000_000_000;
/** Maximum cost of one record in 1e-12 USD: 5,000 USD, which a number represents exactly. */
export const MAX_RECORD_COST = moneyOf('5000');
/** Maximum number of containers of an answer that are told apart: above that of any real one. */
const MAX_CONTAINERS = 64;
/** Maximum length of the id, the model and the finish reason of a response: above that of any real one. */
const MAX_FACT_CHARACTERS = 512;

/** The counts of a usage beside input and output. */
export const COUNT_FIELDS = [
  'cached',
  'cachedAudio',
  'cachedImage',
  'cacheWrite',
  'cacheWrite1h',
  'reasoning',
  'toolInput',
  'audioInput',
  'audioOutput',
  'imageInput',
  'imageOutput',
  'imageToolInput',
  'imageToolOutput',
  'searches',
  'fileSearches',
  'containers',
  'mapRequests',
] as const satisfies (keyof Usage)[];

const ALL_COUNTS = ['input', 'output', ...COUNT_FIELDS] as const;
const COUNT_NAMES: ReadonlySet<string> = new Set(ALL_COUNTS);

/**
 * Counts of a stream so far, completed by later ones. The input is that of the whole request, so that a later zero, or one without
 * the cached part of an earlier one, is no count. Of searches the most count, as a report may have a part of them.
 */
export function joinUsage<Counts extends Partial<Usage>>(before: Counts | undefined, later: Counts): Counts {
  const joined: Counts = { ...before, ...later };
  const { input = 0, cached = 0, cacheWrite = 0 } = joined;
  if (before?.input !== undefined && input < Math.max(1, cached + cacheWrite)) {
    joined.input = Math.max(before.input, input);
  }
  if (before?.searches) joined.searches = Math.max(before.searches, joined.searches ?? 0);
  return joined;
}

/** The sum of the uses of tools. One container serves all calls that name it, and those that name none. */
export function addToolUse(one: ShownUse, other: ShownUse): ShownUse {
  const containerIds = joinIds(one.containerIds, other.containerIds);
  return {
    searches: (one.searches ?? 0) + (other.searches ?? 0),
    imageToolOutput: (one.imageToolOutput ?? 0) + (other.imageToolOutput ?? 0),
    fileSearches: (one.fileSearches ?? 0) + (other.fileSearches ?? 0),
    containers: Math.max(one.containers ?? 0, other.containers ?? 0, containerIds.length),
    containerIds,
  };
}

function joinIds(known: readonly string[] = [], more: readonly string[] = []): readonly string[] {
  if (known.length >= MAX_CONTAINERS) return known;
  const found = more.filter((id) => !known.includes(id));
  return found.length === 0 ? known : [...known, ...found];
}

/** Whether a response has output, or use of tools, which is charged beside it. */
export function hasOutputOrToolUse(counts: Partial<Usage>): boolean {
  return CHARGED.some((name) => (counts[name] ?? 0) > 0);
}

const CHARGED = [
  'output',
  'searches',
  'imageToolOutput',
  'fileSearches',
  'containers',
  'mapRequests',
] as const satisfies (keyof Usage)[];

/** Tools whose use an answer shows call by call. */
const SHOWN = ['searches', 'fileSearches', 'containers'] as const satisfies (keyof ToolUse)[];

/** Counts with those of tools that an answer has shown: calls where they are more than was reported, an estimate of images where nothing was. */
export function withToolUse<Counts extends Partial<Usage>>(counts: Counts, use: ToolUse): Counts {
  const { imageToolOutput = 0 } = use;
  const more: ToolUse = imageToolOutput > 0 && counts.imageToolOutput === undefined ? { imageToolOutput } : {};
  const rest: Usage = { input: 0, output: 0, ...more };
  for (const name of SHOWN) {
    const { [name]: shown = 0 } = use;
    const { [name]: reported = 0 } = counts;
    if (shown <= reported) continue;
    more[name] = shown;
    rest[name] = shown - reported;
  }
  if (!counts.rounds || !hasOutputOrToolUse(more)) return { ...counts, ...more };
  return { ...counts, ...more, rounds: [...counts.rounds, rest] };
}

/** Counts with containers as gigabytes, as the body and the options for the provider ask for them. Which one ran is not known. */
export function withContainerSize<Counts extends Partial<Usage>>(
  counts: Counts,
  own: AskedContainers = {},
  optional: AskedContainers = {},
): Counts {
  const { containers, rounds } = counts;
  const { containerSize: one = 1, containerSum: ownSum = 0 } = own;
  const { containerSize: other = 1, containerSum: optionalSum = 0 } = optional;
  const size = one * other === 0 ? 0 : Math.max(one, other);
  if (!containers || size === 1) return counts;
  if (!rounds) {
    const most = Math.max(ownSum, optionalSum, size + containers - 1);
    return { ...counts, containers: Math.min(containers * size, most) };
  }
  const sized = rounds.map((round) => withContainerSize(round, own, optional));
  return { ...counts, containers: sized.reduce((sum, round) => sum + (round.containers ?? 0), 0), rounds: sized };
}

/** Clamps counts to integers within the bounds; invalid counts are removed. */
export function boundUsage(usage: Readonly<Partial<Usage>>): Readonly<Partial<Usage>> {
  if (isBounded(usage)) return usage;
  const bounded: Partial<Usage> = { ...usage };
  for (const name of ALL_COUNTS) {
    const count = boundCount(usage[name]);
    if (count === undefined) delete bounded[name];
    else bounded[name] = count;
  }
  if (reportedCostOf(usage) === undefined) delete bounded.reportedCost;
  // The counts of rounds are bounded by their lines of the cost.
  return bounded;
}

function isBounded(usage: Partial<Usage>): boolean {
  // Most have few of the counts.
  for (const name in usage) {
    const count = usage[name as keyof Usage];
    if (count !== undefined && COUNT_NAMES.has(name) && boundCount(count) !== count) return false;
  }
  return usage.reportedCost === undefined || reportedCostOf(usage) !== undefined;
}

/** Undefined for an invalid count. */
export function boundCount(value: unknown): number | undefined {
  if (typeof value !== 'number' || Number.isNaN(value) || value < 0) return undefined;
  return Math.min(Math.round(value), MAX_RECORD_TOKENS);
}

/** Cost reported by the upstream, in 1e-12 USD; undefined if absent or implausible. */
export function reportedCostOf({ reportedCost }: Partial<Usage>): bigint | undefined {
  if (reportedCost === undefined) return undefined;
  try {
    return plausibleCost(moneyOf(String(reportedCost)));
  } catch {
    return undefined;
  }
}

/** Undefined for an amount that is negative or beyond what one record may cost. */
export function plausibleCost(cost: bigint): bigint | undefined {
  return cost >= 0n && cost <= MAX_RECORD_COST ? cost : undefined;
}

/** Limits a cost in 1e-12 USD to the range from 0 to the maximum of a record. */
export function boundCost(cost: bigint): bigint {
  return cost < 0n ? 0n : minBigInt(cost, MAX_RECORD_COST);
}

/** Truncates the facts of a response, which are written to logs, metrics and usage records. */
export function boundFacts({ id, model, finish, sequence }: AnswerFacts): AnswerFacts {
  const bound = (text: string | undefined): string | undefined => text?.slice(0, MAX_FACT_CHARACTERS);
  return { id: bound(id), model: bound(model), finish: bound(finish), ...(sequence !== undefined && { sequence }) };
}
