/** How much output the body of a request asks for at most. */

import { isRawNumber } from './json/json.ts';

export interface AskedOutput {
  /** Tokens of one answer; of several figures the largest, since a server may go by any. Absent where nothing is said. */
  limit?: number;
  /** Answers to be made, at least 1. */
  answers: number;
  /** Tokens to think for that may come on top of the limit. */
  thinking: number;
}

/** The most that an endpoint may be asked for. */
export interface OutputLimit {
  /** Tokens of one answer. */
  tokens: number;
  answers: number;
  /** A body that says no limit gets this one: nothing else would keep the answer within it. */
  isSaid: boolean;
}

/** The largest of the values that are figures, or stand for one; a negative one means that there is no bound. */
export function largestFigure(values: readonly unknown[]): number | undefined {
  const figures = values.map(figureOf).filter((figure) => figure !== undefined);
  return figures.length === 0 ? undefined : Math.max(...figures);
}

function figureOf(value: unknown): number | undefined {
  if (typeof value !== 'number' && typeof value !== 'string' && !isRawNumber(value)) return undefined;
  const figure = isRawNumber(value) ? Number(JSON.stringify(value)) : Number(value);
  if (value === '' || Number.isNaN(figure)) return undefined;
  return figure < 0 ? Number.POSITIVE_INFINITY : figure;
}

/** What two parts of one request ask for together. */
export function joinOutput(one: AskedOutput, other: AskedOutput): AskedOutput {
  const limit = largestFigure([one.limit, other.limit]);
  return {
    ...(limit !== undefined && { limit }),
    answers: Math.max(one.answers, other.answers),
    thinking: Math.max(one.thinking, other.thinking),
  };
}
