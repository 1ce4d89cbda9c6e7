/** A video task as it is kept: what was asked, how far it is, and what came of it. Moments are Unix milliseconds. */

import type { VideoCharge, VideoFailure, VideoRef } from '../core/video.ts';

export type TerminalStatus = 'completed' | 'failed' | 'cancelled' | 'expired';
export type VideoStatus = 'queued' | 'in_progress' | TerminalStatus;

/** Where the task machine is; callers see only the status. */
export type VideoPhase = 'submitting' | 'polling' | 'finalizing' | 'done';

export interface VideoTask {
  id: string;
  /** The id of the caller's key. */
  owner: string;
  /** `<provider>/<model_id>`. */
  model: string;
  prompt?: string;
  details: VideoDetails;
  status: VideoStatus;
  phase: VideoPhase;
  /** Raised by every change: a change that rests on an outdated view is refused. */
  version: number;
  /** From 0 to 100. */
  progress?: number;
  cancelRequested: boolean;
  assets: TaskAsset[];
  memory: TaskMemory;
  /** Seconds of video made; on terminal tasks. */
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
  /** When mirrored media go away. */
  mediaExpiresAt?: number;
}

/** What is echoed of a request and what its price rests on; the media that came with it are kept apart. */
export interface VideoDetails {
  /** Length of one video in seconds. */
  duration?: number;
  size?: string;
  resolution?: string;
  aspectRatio?: string;
  seed?: number;
  audio?: boolean;
  count: number;
  metadata?: Record<string, string>;
  /** The caller's name for its own user, for audits. */
  user?: string;
  /** The model's prices when the task was created, as in `VideoAbilities`. */
  prices?: Record<string, string>;
}

/** One video that the upstream made. `inline` came as base64 in an answer and has to be asked for again. */
export interface TaskAsset {
  source: { url: string } | { path: string } | { inline: true };
  mime?: string;
  kept?: MirroredFile;
  /** The mirror kept it for as long as it was to be kept. */
  expired?: true;
}

/** A video that the mirror keeps. */
export interface MirroredFile {
  /** Where, in the mirror's own words. */
  file: string;
  /** Hexadecimal. */
  sha256: string;
  bytes: number;
  mime: string;
  /** Length, where the file tells it. */
  seconds?: number;
}

/** What the task machine remembers from one step to the next. */
export interface TaskMemory {
  /** Polls that were answered. */
  polls?: number;
  /** Steps in a row that came to nothing. */
  failures?: number;
  /** Answers in a row that the task is not there. */
  missing?: { count: number; since: number };
  /** It was reported as done, but without a video. */
  empty?: true;
  /** What the upstream answered when it was asked to cancel it. */
  cancellation?: 'accepted' | 'too-late';
  /** Times that the inputs could not be fetched. */
  fetches?: number;
  /** Credentials that refused the submission in this round. */
  refused?: string[];
  /** `since`: from when on the task waits for its mirror. */
  mirror?: { tries: number; since: number };
  charge?: VideoCharge;
}

export type AttemptState = 'intent' | 'sending' | 'accepted' | 'rejected' | 'ambiguous';

/** The submission of a task to an upstream, written before it is sent. */
export interface VideoAttempt {
  id: string;
  taskId: string;
  provider: string;
  /** Which of the provider's credentials: what was made with one can only be asked for with it. */
  credential: string;
  state: AttemptState;
  createdAt: number;
  sentAt?: number;
  acceptedAt?: number;
  ref?: VideoRef;
}

/** What a task cost, and where that figure is from. */
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
