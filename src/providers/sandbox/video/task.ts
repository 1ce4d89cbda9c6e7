/** Stateless video tasks: the id contains the request, and the status follows from the time. */

import type { Static } from 'typebox';
import * as Type from 'typebox';
import { problems } from '../../../core/json/check.ts';

export const MAX_SECONDS = 10;
export const MAX_COUNT = 4;

const Dimension = Type.Integer({ minimum: 480, maximum: 1920, multipleOf: 2 });

const Task = Type.Object({
  /** Unix milliseconds. */
  created: Type.Integer({ minimum: 0 }),
  /** Distinguishes tasks of the same request. */
  attempt: Type.String({ maxLength: 100 }),
  width: Dimension,
  height: Dimension,
  seconds: Type.Integer({ minimum: 1, maximum: MAX_SECONDS }),
  count: Type.Integer({ minimum: 1, maximum: MAX_COUNT }),
  shade: Type.Integer({ minimum: 0 }),
  fate: Type.Union([Type.Literal('complete'), Type.Literal('fail'), Type.Literal('hang'), Type.Literal('expire')]),
});

export type SandboxVideoTask = Static<typeof Task>;

export type VideoState =
  | { status: 'queued' }
  /** `progress` from 0 to 99. */
  | { status: 'in_progress'; progress: number }
  | { status: 'completed' | 'failed' | 'expired' };

/** Time in the queue, and until the end. */
const QUEUED_MS = 500;
const READY_MS = 3000;
const HANG_PROGRESS_PERCENT = 50;
/** Difference between the clocks of gateways. A task that seems to be made later than that is over: the clock was set back since. */
const CLOCK_SKEW_MS = 60_000;

const ENDINGS = { complete: 'completed', fail: 'failed', expire: 'expired' } as const;

/** The fate that a word in the prompt selects. */
export function fateOf(prompt: string): SandboxVideoTask['fate'] {
  const word = /\b(fail|hang|expire)\b/i.exec(prompt)?.[1]?.toLowerCase();
  return word === 'fail' || word === 'hang' || word === 'expire' ? word : 'complete';
}

/** State of a task at a time in Unix milliseconds. */
export function stateOf({ created, fate }: SandboxVideoTask, now: number): VideoState {
  const age = now - created < -CLOCK_SKEW_MS ? READY_MS : now - created;
  if (age < QUEUED_MS) return { status: 'queued' };
  const progress = Math.min(99, Math.floor((100 * age) / READY_MS));
  if (fate === 'hang') return { status: 'in_progress', progress: Math.min(HANG_PROGRESS_PERCENT, progress) };
  return age < READY_MS ? { status: 'in_progress', progress } : { status: ENDINGS[fate] };
}

const PREFIX = 'video_';

export function encodeId(task: SandboxVideoTask): string {
  return PREFIX + Buffer.from(JSON.stringify(task)).toString('base64url');
}

/** Undefined for an invalid id. */
export function decodeId(id: string): SandboxVideoTask | undefined {
  if (!id.startsWith(PREFIX)) return undefined;
  try {
    const task: unknown = JSON.parse(Buffer.from(id.slice(PREFIX.length), 'base64url').toString('utf8'));
    return problems(Task, task).length === 0 ? (task as SandboxVideoTask) : undefined;
  } catch {
    return undefined;
  }
}
