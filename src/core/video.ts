/** Video generation as the gateway sees it: what a model can make, what is asked of it, and what an upstream says of a task. */

import type { Json } from './json/json.ts';

export type FrameType = 'first_frame' | 'last_frame';
export type ReferenceType = 'image' | 'video' | 'audio';

/** What a model accepts; an absent list or flag means that the parameter is not accepted. */
export interface VideoAbilities {
  /** Lengths in whole seconds. */
  durations?: number[];
  /** E.g. `720p`, `1080p`. */
  resolutions?: string[];
  /** E.g. `16:9`. */
  aspectRatios?: string[];
  /** `<width>x<height>`. */
  sizes?: string[];
  frames?: FrameType[];
  /** How many references of each type at most. */
  references?: Partial<Record<ReferenceType, number>>;
  /** Sound can be asked for or declined. */
  audio?: boolean;
  seed?: boolean;
  negativePrompt?: boolean;
  /** Videos of one task at most; 1 if absent. */
  count?: number;
  /** An image alone is enough. */
  promptOptional?: boolean;
  /** Without a first frame or a reference image there is nothing to make a video of. */
  imageRequired?: boolean;
  /** Keys of `provider.options.<slug>` that are passed on. */
  passthrough?: string[];
  /** What holds where the caller says nothing. */
  defaults?: { duration?: number; resolution?: string; aspectRatio?: string; size?: string };
  /**
   * USD as decimal strings: `per-video-second`, `per-video-second-1080p`, `per-video-second-audio`,
   * `per-video-second-1080p-audio`, `per-video`, `per-video-token`, `per-video-token-audio`.
   */
  prices?: Record<string, string>;
}

/** Exactly one of `url` and `data` (base64) is there. */
export interface VideoInput {
  url?: string;
  data?: string;
  /** With `data` always. */
  mime?: string;
}

/** A checked request for one task, in the gateway's own words. */
export interface VideoRequest {
  /** As the upstream knows it. */
  model: string;
  prompt?: string;
  /** Seconds. */
  duration?: number;
  resolution?: string;
  aspectRatio?: string;
  size?: string;
  frames: { type: FrameType; input: VideoInput }[];
  references: { type: ReferenceType; input: VideoInput }[];
  audio?: boolean;
  seed?: number;
  negativePrompt?: string;
  /** How many videos. */
  count: number;
  /** The provider's own fields of `provider.options.<slug>`, already reduced to what the model passes through. */
  options?: Record<string, Json>;
}

/** What an upstream calls a task, with all that is needed to ask for it again; JSON that only its adapter reads. */
export type VideoRef = Json;

/** One request below the provider's base URL: never to an address that an upstream named, so that no key leaves. */
export interface VideoCall<Result> {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Appended to the base URL; ids in it are percent-encoded. */
  path: string;
  headers?: Record<string, string>;
  /** JSON, or a form. */
  body?: Json | FormData;
  /** Reads an answer. Never throws: what it cannot read is `unreadable`, which is treated like a busy upstream. */
  read(answer: VideoAnswer): Result;
}

export interface VideoAnswer {
  status: number;
  headers: Record<string, string | undefined>;
  /** Undefined where the body is empty or no JSON. */
  body: Json;
}

export interface VideoFailure {
  /** One of the task error codes of the public API. */
  code: TaskErrorCode;
  /** For the caller: without keys, accounts and addresses. */
  message: string;
}

export type TaskErrorCode =
  | 'content_policy_violation'
  | 'invalid_input'
  | 'model_unavailable'
  | 'upstream_rejected'
  | 'upstream_error'
  | 'upstream_auth'
  | 'upstream_task_lost'
  | 'submit_unknown'
  | 'result_missing'
  | 'deadline_exceeded'
  | 'cancelled'
  | 'abandoned';

/** `unreadable`: a 2xx without what is needed, so that nobody knows whether a task came into being. */
export type SubmitResult =
  | { type: 'accepted'; ref: VideoRef }
  | { type: 'rejected'; error: VideoFailure; retryable: boolean }
  | { type: 'unreadable' };

/** A finished video: behind a public URL, below the base URL with the credential, or as base64 in the answer. */
export type VideoAsset = { mime?: string } & ({ url: string } | { path: string } | { data: string });

/** What an upstream charged or measured, where it says so. */
export interface VideoCharge {
  /** Seconds of video made. */
  seconds?: number;
  /** What models with a price `per-video-token` are charged by. */
  tokens?: number;
  /** USD as a decimal string. */
  cost?: string;
}

export type PollResult =
  | { type: 'queued' }
  /** `progress` from 0 to 100. */
  | { type: 'running'; progress?: number }
  | ({ type: 'completed'; assets: VideoAsset[] } & VideoCharge)
  | ({ type: 'failed'; error: VideoFailure } & VideoCharge)
  | ({ type: 'cancelled' } & VideoCharge)
  | ({ type: 'expired' } & VideoCharge)
  /** The upstream says in so many words that it does not know the task; a bare 404 need not be reported so. */
  | { type: 'lost' }
  /** A status word never seen before: the task is treated as running. */
  | { type: 'unknown'; status: string }
  /** More must be asked before anything is known, e.g. the result behind a finished queue entry. */
  | { type: 'follow'; call: VideoCall<PollResult> }
  | { type: 'unreadable' };

export type CancelResult =
  | { type: 'accepted' }
  | { type: 'too-late' }
  /** The state was asked for first, because cancelling would harm a task that is no longer queued. */
  | { type: 'follow'; call: VideoCall<CancelResult> }
  | { type: 'unreadable' };

export interface SubmitContext {
  /** Ours: unguessable, stored before the request is sent, for providers that keep a caller's id. */
  attemptId: string;
}

/** What identifies a submission of ours whose answer was lost. */
export interface LostSubmission {
  attemptId: string;
  request: VideoRequest;
  /** Unix seconds. */
  sentAt: number;
  /** Tasks that other submissions of ours have: none of them is the lost one. */
  otherRefs: readonly VideoRef[];
}

/** `none`: it surely does not exist; `unclear`: the list cannot tell. */
export type FindResult = { type: 'found'; ref: VideoRef } | { type: 'none' } | { type: 'unclear' };

/**
 * How a provider makes videos: builds requests and reads answers, without any I/O. What every provider means alike is
 * decided by the task machine before `read`: no answer, 401, 403, 404, 408, 429 and 5xx to a poll or cancellation.
 * For a submission `read` sees every answer but 5xx and 408.
 */
export interface VideoApi {
  /** Inputs are sent as base64: the gateway fetches URLs first. */
  readonly inlinesMedia?: boolean;
  /** Milliseconds between two polls of a task at least; 5000 if absent. */
  readonly minPollIntervalMs?: number;
  /** Throws `invalid_request` or `unsupported_parameter` with `param` for what the abilities cannot express. */
  checkRequest?(request: VideoRequest): void;
  submit(request: VideoRequest, context: SubmitContext): VideoCall<SubmitResult>;
  poll(ref: VideoRef): VideoCall<PollResult>;
  /** Absent where a task cannot be cancelled once accepted. */
  cancel?(ref: VideoRef): VideoCall<CancelResult>;
  /** New URLs for a completed task; absent where a poll gives them. */
  refresh?(ref: VideoRef): VideoCall<PollResult>;
  /** Looks for a task whose acceptance we did not see; absent where the provider offers no way. */
  find?(lost: LostSubmission): VideoCall<FindResult>;
}
