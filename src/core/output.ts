/** Output request: the output that the body of a request allows at most. */

import type { ToolUse } from './chat.ts';
import { isRawNumber } from './json/json.ts';

/** Tools that the provider runs and bills apart, beside searches of the web. */
export interface ProviderTools {
  /** One makes images with another model, searches stored files, or answers with places of a map. */
  images?: boolean;
  files?: boolean;
  maps?: boolean;
  /** Size of the containers in which they run. */
  containers?: number;
}

/** Use of these tools that an answer shows. */
export interface ShownUse extends ToolUse {
  /** Ids of the containers, of which several calls may name the same one. */
  containerIds?: readonly string[];
}

/** What a request asks of its containers. */
export interface AskedContainers {
  /** Gigabytes of the largest, 0 where they are free; 1 if absent. */
  containerSize?: number | undefined;
  /** Gigabytes of all, where they are known. */
  containerSum?: number | undefined;
}

export interface RequestedOutput {
  /** Output limit of one answer in tokens; the largest of several members, since a server may use any. Absent if unset. */
  limit?: number;
  /** Number of answers, at least 1. */
  answers: number;
  /** Reasoning tokens that may be added to the limit. */
  thinking: number;
  /** Most web searches of one answer; absent if the request does not limit them. */
  searches?: number;
}

/** Output limit of a request to an endpoint. */
export interface OutputLimit {
  /** Output tokens of one answer. */
  tokens: number;
  answers: number;
  /** The limit is set in a body without one; otherwise the answer would be unbounded. */
  isExplicit: boolean;
}

/** The largest of the numeric values; a negative value means no limit. */
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

/** Combines the output requests of two parts of one request. */
export function joinOutput(one: RequestedOutput, other: RequestedOutput): RequestedOutput {
  const limit = largestFigure([one.limit, other.limit]);
  const searches = largestFigure([one.searches, other.searches]);
  return {
    ...(limit !== undefined && { limit }),
    ...(searches !== undefined && { searches }),
    answers: Math.max(one.answers, other.answers),
    thinking: Math.max(one.thinking, other.thinking),
  };
}
