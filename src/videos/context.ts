/** What the task machine works with. */

import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import type { Provider } from '../core/provider.ts';
import type { VideoApi } from '../core/video.ts';
import type { FetchBytes } from '../net/fetch.ts';
import type { ActiveProvider } from '../routing/model-directory.ts';
import type { Store } from '../store/store.ts';
import type { TelemetryEvents } from '../telemetry/observer.ts';
import type { Credential } from '../transport/credentials.ts';
import type { UpstreamClient } from '../transport/upstream-client.ts';
import type { Mirror } from './mirror.ts';
import type { PollBudget } from './poll-budget.ts';
import type { VideoAttempt } from './task.ts';
import type { TaskObjectOptions } from './task-object.ts';

export interface VideoSettings {
  /** Milliseconds, as the others below: until a task whose caller sets no end is given up. */
  expiresAfterMs: number;
  keepMediaMs: number;
  keepRecordsMs: number;
  /** Within it equal requests make one task; absent means that each makes its own. */
  dedupeWindowMs?: number;
}

export interface VideoContext {
  store: Store;
  /** By their ids, as they are at this moment. */
  providers(): ReadonlyMap<string, Pick<ActiveProvider, 'provider' | 'credentials' | 'headers'>>;
  upstream: Pick<UpstreamClient, 'send'>;
  userAgent: string;
  /** Absent when nothing is mirrored. */
  mirror?: Mirror;
  fetchBytes: FetchBytes;
  taskObject: TaskObjectOptions;
  settings: VideoSettings;
  /** Polls that each credential may still make. */
  pollBudget: PollBudget;
  clock: Clock;
  /** From 0 to 1. */
  random(): number;
  log: Pick<Logger, 'info' | 'warn' | 'error'>;
  events?: Pick<TelemetryEvents, 'videoStatusChanged' | 'videoMirrorFailed' | 'unknownVideoStatus'>;
  /** Tells the scheduler that a job of the kind became due. */
  wake(kind: string): void;
}

/** Who is asked, and as whom. */
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

export function laneOf({ provider, credential }: Pick<VideoAttempt, 'provider' | 'credential'>): string {
  return `${provider}/${credential}`;
}
