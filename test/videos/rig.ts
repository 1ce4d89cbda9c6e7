/** A task machine on a real store and a real upstream, with time that moves when a test says so. */

import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import type { Clock } from '../../src/core/clock.ts';
import { keyCredential } from '../../src/core/credential.ts';
import type { CatalogModel } from '../../src/core/model.ts';
import type { VideoApi } from '../../src/core/video.ts';
import type { Job, JobHandler } from '../../src/jobs/job.ts';
import type { FetchBytes } from '../../src/net/guarded-client.ts';
import type { VideoTask } from '../../src/records/video-task.ts';
import type { StoreOperation } from '../../src/store/operation.ts';
import type { Store } from '../../src/store/store.ts';
import { createCredentials } from '../../src/transport/credentials.ts';
import { createUpstreamClient } from '../../src/transport/upstream-client.ts';
import type { NewTask } from '../../src/videos/create.ts';
import type { Mirror } from '../../src/videos/mirror.ts';
import type { TaskObjectOptions } from '../../src/videos/task-object.ts';
import { createVideos, type Videos } from '../../src/videos/videos.ts';
import { createManualClock, type ManualClock } from '../jobs/manual-clock.ts';
import { type OpenTestStore, openTestSqlite } from '../store/stores.ts';
import type { operations } from './operations.ts';
import { type ScriptedUpstream, scriptedApi, scriptedProvider, startUpstream } from './scripted.ts';

export const START = 1_795_219_952_000;
export const OWNER = 'key-1';
export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;

type Operations = typeof operations;

export interface VideoStore extends Store {
  /** Calls any operation, those of the tests included. */
  do<Name extends keyof Operations>(
    name: Name,
    parameters: Operations[Name] extends StoreOperation<infer Parameters, infer _Result> ? Parameters : never,
  ): Promise<Operations[Name] extends StoreOperation<infer _Parameters, infer Result> ? Awaited<Result> : never>;
  /** What a second gateway sees of the same data. */
  beside(): Promise<Store>;
}

const OPERATIONS = new URL('./operations.ts', import.meta.url);

export async function openVideoStore(context: TestContext, open: OpenTestStore = openTestSqlite): Promise<VideoStore> {
  const store = await open(context, { operations: OPERATIONS });
  return { ...store, do: store.call as unknown as VideoStore['do'] };
}

export interface RigOptions {
  store?: VideoStore;
  video?: VideoApi;
  keys?: string[];
  mirror?: Mirror;
  fetchBytes?: FetchBytes;
  pollRate?: number;
  dedupeWindow?: number;
  maxRecentBytes?: number;
  /** The clock of the rig by default. */
  expiry?: Pick<Clock, 'now'>;
  url?: string;
}

export interface Rig {
  store: VideoStore;
  upstream: ScriptedUpstream;
  clock: ManualClock;
  videos: Videos;
  object: TaskObjectOptions;
  /** Whether the provider is in the configuration. */
  configured: boolean;
  /** Kinds of jobs that the scheduler was told about. */
  woken: string[];
  /** What telemetry was told. */
  events: string[];
  create(changes?: Partial<NewTask['creation']>, more?: Partial<NewTask>): Promise<VideoTask>;
  /** Does all that is due now. */
  work(): Promise<void>;
  /** Sets the clock back, with the due times of jobs. */
  setBack(now: number): Promise<void>;
  /** Lets time pass in steps, working after each, until the condition holds. */
  until(condition: () => boolean | Promise<boolean>, step?: number): Promise<void>;
  ended(id: string, step?: number): Promise<VideoTask>;
  get(id: string): Promise<VideoTask>;
}

export const model: CatalogModel = {
  id: 'up/video',
  provider: 'up',
  upstreamId: 'video',
  video: { durations: [4, 8], prices: { 'per-video-second': '0.50' } },
} as unknown as CatalogModel;

export const object: TaskObjectOptions = {
  baseUrl: 'https://gw.example',
  mirrorUrls: (task) => task.assets.flatMap(({ kept }) => (kept ? [`https://gw.example/${kept.file}`] : [])),
  exposeUpstreamUrls: true,
};

export async function createRig(context: TestContext, options: RigOptions = {}): Promise<Rig> {
  const upstream = await startUpstream(context);
  const store = options.store ?? (await openVideoStore(context));
  const clock = createManualClock(START);
  const client = createUpstreamClient({ connect: 2000, firstByte: 5000, idle: 5000, total: 10_000 });
  context.after(() => client.close());
  const woken: string[] = [];
  const events: string[] = [];
  const provider = scriptedProvider(options.url ?? upstream.url, options.video ?? scriptedApi);
  const credentials = createCredentials((options.keys ?? ['one']).map(keyCredential), () => clock.now());
  const videos = createVideos({
    store,
    providers: () => new Map(rig.configured ? [['up', { provider, credentials, headers: {} }]] : []),
    upstream: client,
    userAgent: 'test',
    mirror: options.mirror,
    fetchBytes: options.fetchBytes ?? (async () => ({ bytes: Buffer.alloc(0) })),
    taskObject: object,
    settings: {
      expiresAfterMs: 24 * HOUR,
      keepMediaMs: 168 * HOUR,
      keepRecordsMs: 2160 * HOUR,
      dedupeWindowMs: options.dedupeWindow,
    },
    clock,
    expiry: options.expiry ?? clock,
    random: () => 0.5,
    log: { info() {}, warn() {}, error() {} } as never,
    wake: (kind) => woken.push(kind),
    events: {
      videoStatusChanged: (status) => events.push(status),
      videoMirrorFailed: () => events.push('unmirrored'),
      unknownVideoStatus: (provider) => events.push(`unknown at ${provider}`),
    },
    pollRate: options.pollRate,
    maxRecentBytes: options.maxRecentBytes,
  });
  const work = () => workOff(store, videos.handlers, clock);
  const get = (id: string) => videos.find(id);

  async function until(condition: () => boolean | Promise<boolean>, step = 5 * SECOND): Promise<void> {
    await work();
    while (!(await condition())) {
      clock.advance(step);
      await work();
    }
  }

  const rig: Rig = {
    ...{ store, upstream, clock, videos, object, woken, events, work, until, get, configured: true },
    async create(changes = {}, more = {}) {
      const { task } = await videos.create(newTask(changes, more));
      return task;
    },
    async setBack(now) {
      const by = clock.now() - now;
      clock.set(now);
      await store.call('shiftJobs', { now, by });
    },
    async ended(id, step) {
      await until(async () => (await get(id)).settledAt !== undefined, step);
      return get(id);
    },
  };
  return rig;
}

export function newTask(changes: Partial<NewTask['creation']> = {}, more: Partial<NewTask> = {}): NewTask {
  const request = { model: 'video', prompt: 'a quiet lake', duration: 8, frames: [], references: [], count: 1 };
  const creation = { model, request, callbackUrl: 'https://receiver.example/hook', dropped: [], ...changes };
  return { owner: OWNER, creation, ...more };
}

export async function claim(store: Store, kind: string, now: number): Promise<Job[]> {
  const slots = { slots: 256, lateSlots: 256, maxPerLane: 256, maxPerOwner: 256 };
  const lease = { lease: randomUUID(), leaseUntil: now + 80 * SECOND };
  return (await store.call('claimJobs', { kind, now, until: now, ...lease, ...slots })).jobs;
}

async function workOff(store: Store, handlers: readonly JobHandler[], clock: ManualClock): Promise<void> {
  for (const { kind, run } of handlers) {
    for (;;) {
      const jobs = await claim(store, kind, clock.now());
      if (jobs.length === 0) break;
      await Promise.all(jobs.map((job) => run(job, new AbortController().signal)));
    }
  }
}
