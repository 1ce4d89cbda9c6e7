/** Stored video tasks: request, state and result. Times are Unix milliseconds. */

import type { VideoCharge, VideoFailure, VideoRef } from '../core/video.ts';

export const TERMINAL_STATUSES = ['completed', 'failed', 'cancelled', 'expired'] as const;
export type TerminalStatus = (typeof TERMINAL_STATUSES)[number];
export const VIDEO_STATUSES = ['queued', 'in_progress', ...TERMINAL_STATUSES] as const;
export type VideoStatus = (typeof VIDEO_STATUSES)[number];

/** State of the task machine; callers see only the status. */
export type VideoPhase = 'submitting' | 'polling' | 'finalizing' | 'done';

export interface VideoTask {
  id: string;
  /** Id of the caller's API key. */
  owner: string;
  /** `<provider>/<model_id>`. */
  model: string;
  prompt?: string;
  details: VideoDetails;
  status: VideoStatus;
  phase: VideoPhase;
  /** Incremented by every change; used for optimistic locking. */
  version: number;
  /** Percent, from 0 to 100. */
  progress?: number;
  cancelRequested: boolean;
  assets: TaskAsset[];
  memory: TaskMemory;
  /** Seconds of video produced; on terminal tasks. */
  seconds?: number;
  /** In 1e-12 USD; on terminal tasks. */
  cost?: bigint;
  /** On tasks that ended without a video. */
  error?: VideoFailure;
  callbackUrl?: string;
  createdAt: number;
  updatedAt: number;
  deadlineAt: number;
  settledAt?: number;
  /** Time at which mirrored media are deleted. */
  mediaExpiresAt?: number;
}

/** Request parameters that are shown with the task or needed for its cost. Media inputs are stored separately. */
export interface VideoDetails {
  /** Length of one video in seconds. */
  duration?: number;
  /** Longest video of the model in seconds, where the provider chooses the length. */
  longest?: number;
  size?: string;
  resolution?: string;
  aspectRatio?: string;
  seed?: number;
  audio?: boolean;
  count: number;
  metadata?: Record<string, string>;
  /** The caller's id of its end user, for audits. */
  user?: string;
  /** Tags of the key when the task was created, as on usage records. */
  tags?: string;
  /** Prices of the model when the task was created, as in `VideoAbilities`. */
  prices?: Record<string, string>;
}

/** One video of the task. `inline`: it came as base64 in a response, and must be queried again to get the bytes. */
export interface TaskAsset {
  source: { url: string } | { path: string } | { inline: true };
  mime?: string;
  kept?: MirroredFile;
  /** The mirrored copy was deleted at the end of its retention. */
  expired?: true;
}

/** A mirrored copy of a video. */
export interface MirroredFile {
  /** Location: `local:<name>` or `s3:<name>`. */
  file: string;
  /** Hexadecimal. */
  sha256: string;
  bytes: number;
  mime: string;
  /** Duration, if the file contains it. */
  seconds?: number;
}

/** State of the task machine between steps. Stored as JSON: names must not change. */
export interface TaskMemory {
  /** Polls that got a response. */
  polls?: number;
  /** Consecutive failed steps. */
  failures?: number;
  /** Consecutive responses that the task does not exist, and the time of the first. */
  missing?: { count: number; since: number };
  /** The upstream reported completion without a video. */
  empty?: true;
  /** The upstream's response to the cancellation. */
  cancellation?: 'accepted' | 'too-late';
  /** Failed fetches of the inputs. */
  fetches?: number;
  /** Credentials with which the submission was refused in this round. */
  refused?: string[];
  /** Mirroring so far; `since` is the start of the first try. */
  mirror?: { tries: number; since: number };
  /** First look at a submission whose moment was written by a clock that was set back since. */
  unclearSince?: number;
  charge?: VideoCharge;
}

export type AttemptState = 'intent' | 'sending' | 'accepted' | 'rejected' | 'ambiguous';

/** Submission of a task to an upstream; stored before it is sent. */
export interface VideoAttempt {
  id: string;
  taskId: string;
  provider: string;
  /** Credential of the submission; the task can only be queried with the same one. */
  credential: string;
  state: AttemptState;
  createdAt: number;
  sentAt?: number;
  acceptedAt?: number;
  ref?: VideoRef;
}

/** Cost of a task, and the source of the amount. */
export interface LedgerEntry {
  taskId: string;
  owner: string;
  model: string;
  provider: string;
  seconds: number;
  /** In 1e-12 USD. */
  cost: bigint;
  source: 'upstream' | 'catalog' | 'none';
  createdAt: number;
}

export function isTerminal(status: VideoStatus): status is TerminalStatus {
  return status !== 'queued' && status !== 'in_progress';
}
