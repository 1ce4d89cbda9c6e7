/** Task machine context: its dependencies, and the upstream target of an attempt. */

import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import type { Provider } from '../core/provider.ts';
import type { VideoApi } from '../core/video.ts';
import type { FetchBytes } from '../net/guarded-client.ts';
import type { VideoAttempt, VideoTask } from '../records/video-task.ts';
import type { ActiveProvider } from '../routing/model-directory.ts';
import type { Store } from '../store/store.ts';
import type { TelemetryEvents } from '../telemetry/observer.ts';
import type { Credential } from '../transport/credentials.ts';
import type { UpstreamClient } from '../transport/upstream-client.ts';
import type { Mirror } from './mirror.ts';
import type { PollBudget } from './poll-budget.ts';
import type { TaskObjectOptions } from './task-object.ts';

export interface VideoSettings {
  /** Default time until a task expires. */
  expiresAfterMs: number;
  keepMediaMs: number;
  keepRecordsMs: number;
  /** Identical requests within this time share one task. If absent, each creates its own. */
  dedupeWindowMs?: number;
}

export interface VideoContext {
  store: Store;
  /** The current providers by id. */
  providers(): ReadonlyMap<string, Pick<ActiveProvider, 'provider' | 'credentials' | 'headers'>>;
  upstream: Pick<UpstreamClient, 'send'>;
  userAgent: string;
  /** Absent if mirroring is off. */
  mirror?: Mirror;
  fetchBytes: FetchBytes;
  taskObject: TaskObjectOptions;
  settings: VideoSettings;
  /** Rate limit of polls per credential. */
  pollBudget: PollBudget;
  clock: Clock;
  /** Clock by which stored data expire, and tasks that are under way. */
  expiry: Pick<Clock, 'now'>;
  /** Random number from 0 to 1. */
  random(): number;
  log: Pick<Logger, 'info' | 'warn' | 'error'>;
  events?: Pick<TelemetryEvents, 'videoStatusChanged' | 'videoMirrorFailed' | 'unknownVideoStatus'>;
  /** The cost of a task is in the usage records. */
  taskCharged?(task: { keyId: string; tags: string }): void;
  /** Signals to the scheduler that a job of this kind is due. */
  wake(kind: string): void;
}

/** Provider and credential of an upstream call. */
export interface VideoTarget {
  provider: Provider;
  video: VideoApi;
  credential: Credential;
  /** Extra request headers the operator configured. */
  headers: Record<string, string>;
}

/** Undefined when the provider or the credential of an attempt is no longer configured. */
export function targetOf(context: VideoContext, attempt: VideoAttempt): VideoTarget | undefined {
  const active = context.providers().get(attempt.provider);
  const credential = active?.credentials.find(attempt.credential);
  if (!active?.provider.video || !credential) return undefined;
  return { provider: active.provider, video: active.provider.video, credential, headers: active.headers };
}

/** Prefix of the lanes of jobs that only poll; their rate is limited. */
export const POLL_LANE_PREFIX = 'poll:';

/** Lane of poll jobs, one for each provider and credential. */
export function pollLaneOf(attempt: Pick<VideoAttempt, 'provider' | 'credential'>): string {
  return POLL_LANE_PREFIX + laneOf(attempt);
}

/** Lane of a task's job. A cancellation that was not sent yet does not wait for the polls of others. */
export function jobLaneOf({
  task,
  attempt,
}: {
  task: Pick<VideoTask, 'phase' | 'cancelRequested' | 'memory'>;
  attempt: VideoAttempt;
}): string {
  const isCancelling = task.cancelRequested && !task.memory.cancellation;
  return task.phase === 'polling' && !isCancelling ? pollLaneOf(attempt) : laneOf(attempt);
}

/** Lane of jobs, one for each provider and credential. */
export function laneOf({ provider, credential }: Pick<VideoAttempt, 'provider' | 'credential'>): string {
  return `${provider}/${credential}`;
}
