/** Task lists of upstreams: the search for a lost submission, and their dates. */

import { isObject, type Json } from '../../core/json/json.ts';
import type { FindResult, LostSubmission } from '../../core/video.ts';
import { amountOf, idOf } from './response.ts';

/** Maximum time by which the upstream's clock may be behind. */
const CLOCK_SKEW_SECONDS = 30;

interface TaskSearch {
  lost: LostSubmission;
  /** Whether the list contains all tasks. */
  complete: boolean;
  /** Undefined if the entry is not conclusive. */
  matches(task: Record<string, Json>): boolean | undefined;
}

/** Finds a task only if it is the single certain match: returning another caller's video is worse than losing one. */
export function searchTasks(tasks: Json, { lost, complete, matches }: TaskSearch): FindResult {
  if (!Array.isArray(tasks) || !tasks.every(isObject)) return { type: 'unclear' };
  const since = lost.sentAt - CLOCK_SKEW_SECONDS;
  const takenIds = new Set(lost.otherRefs.map((ref) => ref?.id));
  const isOld = (task: Record<string, Json>) => (amountOf(task.created_at) ?? since) < since;
  const candidates = tasks.filter((task) => !isOld(task)).map((task) => ({ id: idOf(task.id), match: matches(task) }));
  const [first, ...others] = candidates.filter(({ id, match }) => match !== false && !takenIds.has(id));
  if (!first) return { type: complete || tasks.some(isOld) ? 'none' : 'unclear' };
  if (others.length > 0 || !first.match || first.id === undefined) return { type: 'unclear' };
  return { type: 'found', ref: { id: first.id } };
}

/** Converts an ISO date to Unix seconds. */
export function unixSecondsOf(date: Json): number | undefined {
  const milliseconds = typeof date === 'string' ? Date.parse(date) : Number.NaN;
  return Number.isNaN(milliseconds) ? undefined : milliseconds / 1000;
}
