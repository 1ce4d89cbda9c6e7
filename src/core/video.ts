/** Video generation: abilities of models, requests, and the adapter interface of providers. */

import type { Json } from './json/json.ts';

export type FrameType = 'first_frame' | 'last_frame';
export type ReferenceType = 'image' | 'video' | 'audio';

/** Parameters that a model supports; an absent list or flag means unsupported. */
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
  /** Maximum number of references per type. */
  references?: Partial<Record<ReferenceType, number>>;
  /** Audio can be switched on or off. */
  audio?: boolean;
  seed?: boolean;
  negativePrompt?: boolean;
  /** Maximum number of videos per task; 1 if absent. */
  count?: number;
  /** No prompt is needed if there is an image. */
  promptOptional?: boolean;
  /** A first frame or a reference image is required. */
  imageRequired?: boolean;
  /** Keys of `provider.options.<slug>` that are passed through. */
  passthrough?: string[];
  /** Values used if the caller specifies none. */
  defaults?: { duration?: number; resolution?: string; aspectRatio?: string; size?: string };
  /**
   * USD as decimal strings: `per-video-second`, `per-video-second-1080p`, `per-video-second-audio`,
   * `per-video-second-1080p-audio`, `per-video`, `per-video-token`, `per-video-token-audio`.
   */
  prices?: Record<string, string>;
}

/** Media input: exactly one of `url` and `data` (base64) is set. */
export interface VideoInput {
  url?: string;
  data?: string;
  /** Always set with `data`. */
  mime?: string;
}

/** A validated request for one task. */
export interface VideoRequest {
  /** Upstream model id. */
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
  /** Number of videos. */
  count: number;
  /** Fields of `provider.options.<slug>` that the model passes through. */
  options?: Record<string, Json>;
}

/** Reference to an upstream task: JSON with all that its adapter needs to query it. */
export type VideoRef = Json;

/** One call below the provider's base URL. URLs reported by upstreams are never called, so the key stays with the provider. */
export interface VideoCall<Result> {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Appended to the base URL; ids in it are percent-encoded. */
  path: string;
  headers?: Record<string, string>;
  /** JSON, or a form. */
  body?: Json | FormData;
  /** Reads a response. Never throws: an invalid response is `unreadable`, which is handled like an upstream error. */
  read(response: VideoResponse): Result;
}

export interface VideoResponse {
  status: number;
  headers: Record<string, string | undefined>;
  /** Undefined if the body is empty or not JSON. */
  body: Json;
}

export interface VideoFailure {
  /** One of the task error codes of the public API. */
  code: TaskErrorCode;
  /** Shown to the caller; contains no keys, accounts or addresses. */
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

/** `unreadable`: a 2xx response without a task id, so it is unknown whether a task was created. */
export type SubmitResult =
  | { type: 'accepted'; ref: VideoRef }
  | { type: 'rejected'; error: VideoFailure; retryable: boolean }
  | { type: 'unreadable' };

/** A finished video: at a public URL, at a path that needs the credential, or as base64 in the response. */
export type VideoAsset = { mime?: string } & ({ url: string } | { path: string } | { data: string });

/** Cost or measurements reported by an upstream. */
export interface VideoCharge {
  /** Seconds of video produced. */
  seconds?: number;
  /** Tokens, for models with a price `per-video-token`. */
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
  /** The upstream reports that the task does not exist. Status 404 is handled by the task machine. */
  | { type: 'lost' }
  /** An unknown status: the task is treated as running. */
  | { type: 'unknown'; status: string }
  /** A follow-up call is needed, e.g. for the result of a finished queue entry. */
  | { type: 'follow'; call: VideoCall<PollResult> }
  | { type: 'unreadable' };

export type CancelResult =
  | { type: 'accepted' }
  | { type: 'too-late' }
  /** The cancellation, after the state was queried first: it would harm a task that is no longer queued. */
  | { type: 'follow'; call: VideoCall<CancelResult> }
  | { type: 'unreadable' };

export interface SubmitContext {
  /** Id of the attempt, unguessable and stored before sending, for providers that store a client id. */
  attemptId: string;
}

/** A submission whose response was lost. */
export interface LostSubmission {
  attemptId: string;
  request: VideoRequest;
  /** Unix seconds. */
  sentAt: number;
  /** References of our other submissions, which cannot be the lost one. */
  otherRefs: readonly VideoRef[];
}

/** `none`: the task does not exist. `unclear`: the list is not conclusive. */
export type FindResult = { type: 'found'; ref: VideoRef } | { type: 'none' } | { type: 'unclear' };

/**
 * Video adapter of a provider: builds calls and reads responses, without I/O. The task machine handles what is common to
 * all providers before `read`: no response, 401, 404, 408, 429 and 5xx for polls and cancellations, and 403 unless `read` finds
 * that the content was refused. For submissions `read` gets every response but 408 and 5xx.
 */
export interface VideoApi {
  /** Inputs must be base64: the gateway fetches URLs before the submission. */
  readonly inlinesMedia?: boolean;
  /** Minimum interval between polls of a task; 5000 if absent. */
  readonly minPollIntervalMs?: number;
  /** Additional checks beyond the abilities. Throws `invalid_request` or `unsupported_parameter` with `param`. */
  checkRequest?(request: VideoRequest): void;
  submit(request: VideoRequest, context: SubmitContext): VideoCall<SubmitResult>;
  poll(ref: VideoRef): VideoCall<PollResult>;
  /** Absent if an accepted task cannot be cancelled. */
  cancel?(ref: VideoRef): VideoCall<CancelResult>;
  /** Gets new URLs of a completed task; absent if a poll returns them. */
  refresh?(ref: VideoRef): VideoCall<PollResult>;
  /** Searches for a lost submission; absent if the provider has no task list. */
  find?(lost: LostSubmission): VideoCall<FindResult>;
}
