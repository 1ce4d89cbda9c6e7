/** Everything behind video tasks: the mirror, the task machine, and the scheduler that drives it. */

import type { Logger } from 'pino';
import { loadEncryptionKeys } from './config/encryption-key.ts';
import type { Config } from './config/resolved.ts';
import { GatewayError } from './core/errors.ts';
import type { VideoOptions } from './http/video-options.ts';
import type { Models } from './inference/models.ts';
import type { Upstream } from './inference/upstream.ts';
import { createClock } from './jobs/clock.ts';
import type { Clock, Scheduler } from './jobs/job.ts';
import { createScheduler } from './jobs/scheduler.ts';
import { createGuardedClient } from './net/fetch.ts';
import { createPolicy, type Policy } from './net/policy.ts';
import { createTrustedClient } from './net/trusted.ts';
import { checkUrl } from './net/url.ts';
import type { Store } from './store/store.ts';
import { createMirror, type FullMirror } from './videos/mirror/index.ts';
import { encodeTask, type ObjectOptions } from './videos/object.ts';
import { createVideos } from './videos/service.ts';

export interface TasksOptions {
  config: Config;
  store: Store;
  log: Logger;
  userAgent: string;
  models(): Models;
  upstream(): Upstream;
  /** How callers reach the gateway, without a slash at the end. */
  baseUrl(): string;
  clock?: Clock;
}

export interface Tasks {
  /** What the video routes are made of. */
  video: VideoOptions;
  start(): Promise<void>;
  /** Claims nothing more and gives back what is not done within `grace` milliseconds. */
  stop(grace: number): Promise<void>;
}

/** Nothing is done before `start`. Throws `invalid_request` in words for the operator. */
export function createTasks(options: TasksOptions): Tasks {
  const { config, store, log, clock = createClock(store) } = options;
  const policy = policyOf(config);
  const clients = {
    guarded: createGuardedClient({ policy, extraCa: config.callbacks.ca }),
    trusted: createTrustedClient(),
  };
  const mirror = createMirror({
    ...{ folder: config.data, store: config.videos.mirror, clients, secrets: secretsOf(config), now: clock.now, log },
    ...{ urlLifetime: config.videos.urlLifetime, keepMedia: config.videos.keepMedia },
    limits: { maxBytes: config.videos.maxSize },
  });
  const object = objectOptions(options, mirror);
  let scheduler: Scheduler | undefined;
  const videos = createVideos({
    ...{ store, clock, log, mirror, object, settings: config.videos, userAgent: options.userAgent },
    ...{
      providers: () => options.models().providers,
      upstream: { send: (...call) => options.upstream().send(...call) },
    },
    fetchBytes: clients.guarded.fetchBytes,
    wake: (kind) => scheduler?.wake(kind),
  });
  return {
    video: {
      ...{ videos, models: options.models, openContent: mirror.openContent, checkFileUrl: mirror.checkFileUrl },
      encode: (task) => encodeTask(task, object),
      checks: { policy, checkCallbackUrl: (url) => checkCallbackUrl(url, policy) },
      deliveries: { of: async () => ({}), replay: async () => ({}) },
      now: clock.now,
    },
    async start() {
      await videos.start();
      scheduler = createScheduler({ store, handlers: videos.handlers, log, clock });
    },
    async stop(grace) {
      await scheduler?.stop(grace);
      await clients.trusted.close();
    },
  };
}

/** Asked anew each time, because a gateway that lets the system choose its port learns it late. */
function objectOptions({ config, baseUrl }: TasksOptions, mirror: FullMirror): ObjectOptions {
  return {
    get baseUrl() {
      return baseUrl();
    },
    mirrorUrls: (task) =>
      task.assets.flatMap(({ kept }, index) => (kept ? [mirror.publicUrl(baseUrl(), task, index, kept)] : [])),
    exposeUpstreamUrls: config.videos.exposeUpstreamUrls,
  };
}

function policyOf({ callbacks, server }: Config): Policy {
  const { allowCidrs, allowHosts, denyCidrs } = callbacks;
  const own = server.publicUrl === undefined ? [] : [new URL(server.publicUrl).hostname];
  return createPolicy({ allowCidrs, allowHosts, denyCidrs, denyHosts: own });
}

function secretsOf({ encryption, data }: Config): [Buffer, ...Buffer[]] {
  const [first, ...others] = loadEncryptionKeys({ ...encryption, data, mayCreate: true });
  if (!first) throw new GatewayError('invalid_request', 'There is no encryption key.');
  return [first, ...others];
}

function checkCallbackUrl(url: string, policy: Policy): string {
  try {
    return checkUrl(url, policy).href;
  } catch (cause) {
    const reason = cause instanceof GatewayError ? cause.message : 'it is not valid.';
    throw new GatewayError('invalid_callback_url', `callback_url: ${reason}`, { param: 'callback_url', cause });
  }
}
