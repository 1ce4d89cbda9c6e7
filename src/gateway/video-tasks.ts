/** Video tasks: wires the mirror, the task machine, webhooks and the job scheduler. */

import type { Logger } from 'pino';
import type { Config } from '../config/resolved.ts';
import { type Clock, createStoreClock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import type { PictureStore } from '../core/picture-store.ts';
import { type CreateSharedRate, createRate } from '../http/rate.ts';
import type { VideoOptions } from '../http/videos/options.ts';
import type { Scheduler } from '../jobs/job.ts';
import { createScheduler } from '../jobs/scheduler.ts';
import { type AddressPolicyOptions, createAddressPolicy } from '../net/address-policy.ts';
import { createGuardedClient, type FetchBytes } from '../net/guarded-client.ts';
import { createLookup } from '../net/resolver.ts';
import { createTrustedClient } from '../net/trusted-client.ts';
import type { ModelDirectory } from '../routing/model-directory.ts';
import { WEBHOOK_JOB_KIND } from '../store/delivery-rows.ts';
import { countGateways, type GatewayCounter } from '../store/instance.ts';
import { accessMessage } from '../store/open-in-thread.ts';
import type { Store } from '../store/store.ts';
import type { TelemetryEvents } from '../telemetry/observer.ts';
import type { UpstreamClient } from '../transport/upstream-client.ts';
import { createMirror, type FullMirror, startHourlyCleanup } from '../videos/mirror/index.ts';
import { encodeTask, type TaskObjectOptions } from '../videos/task-object.ts';
import { createVideos } from '../videos/videos.ts';
import { checkCallbackUrl } from '../webhooks/callback-url.ts';
import { deliveriesOf, replayDelivery } from '../webhooks/delivery-log.ts';
import { createDeliveryThread, type DeliveryThread } from '../webhooks/delivery-thread.ts';
import type { WebhookSecrets } from '../webhooks/secrets.ts';
import type { ThreadSettings } from '../webhooks/thread-messages.ts';
import type { OpenedSecrets } from './encryption.ts';

export interface VideoTasksOptions {
  config: Config;
  store: Store;
  secrets: OpenedSecrets;
  log: Logger;
  userAgent: string;
  models(): ModelDirectory;
  upstream(): UpstreamClient;
  /** Public base URL, without a trailing slash. */
  baseUrl(): string;
  clock?: Clock;
  /** Clock by which stored data expire. */
  expiry: Pick<Clock, 'now'>;
  /** Telemetry events of tasks and webhooks. */
  events?: TelemetryEvents;
  /** In a worker: tells the primary, which runs the jobs, that a job of a kind is due. */
  wakePrimary?: ((kind: string) => void) | undefined;
  /** The cost of a task is in the usage records. */
  taskCharged?(task: { keyId: string; tags: string }): void;
  /** Makes the rate of replays; that of this process alone if absent. */
  createRate?: CreateSharedRate | undefined;
}

export interface VideoTasks {
  /** Dependencies of the video routes. */
  video: VideoOptions;
  /** Pictures of answers, beside the mirrored videos. */
  pictures: PictureStore;
  /** Webhook signing secrets. */
  secrets: WebhookSecrets;
  /** Fetches media behind URLs of clients, from public addresses only. */
  fetchBytes: FetchBytes;
  start(): Promise<void>;
  /** A job of a kind is due. */
  wake(kind: string): void;
  /** Stops claiming jobs and releases those that do not finish within `grace` milliseconds. */
  stop(grace: number): Promise<void>;
}

/** Runs nothing before `start`. */
export function createVideoTasks(options: VideoTasksOptions): VideoTasks {
  const { config, store, log, userAgent, expiry, clock = createStoreClock(store) } = options;
  const { keys, webhooks: secrets } = options.secrets;
  const policyOptions = policyOptionsOf(config);
  const policy = createAddressPolicy(policyOptions);
  const lookup = createLookup(policy, config.network.dnsServers);
  const { denyCidrs, denyHosts } = policyOptions;
  // What is opened for webhooks and results is not for clients to read.
  const mediaPolicy = createAddressPolicy({ denyCidrs, denyHosts });
  const mediaLookup = createLookup(mediaPolicy, config.network.dnsServers);
  const { fetchBytes } = createGuardedClient({
    policy: mediaPolicy,
    lookup: mediaLookup,
    extraCa: config.callbacks.ca,
    clock,
  });
  const clients = {
    guarded: createGuardedClient({ policy, lookup, extraCa: config.callbacks.ca, clock }),
    trusted: createTrustedClient({ clock, proxy: config.network.proxy }),
  };
  const mirror = createMirror({
    folder: config.data,
    store: config.videos.mirror,
    clients,
    secrets: keys,
    clock,
    log,
    urlLifetimeMs: config.videos.urlLifetimeMs,
    keepMediaMs: config.videos.keepMediaMs,
    limits: { maxBytes: config.videos.maxSize },
  });
  const taskObject = objectOptions(options, mirror);
  let scheduler: Scheduler | undefined;
  let stopExpiring = () => {};
  let deliveries: DeliveryThread | undefined;
  const { wakePrimary } = options;
  function wake(kind: string): void {
    if (wakePrimary) wakePrimary(kind);
    else if (kind === WEBHOOK_JOB_KIND) deliveries?.wake();
    else scheduler?.wake(kind);
  }
  let gateways: GatewayCounter | undefined;
  const videos = createVideos({
    gateways: () => gateways?.count() ?? 1,
    store,
    clock,
    expiry,
    log,
    mirror,
    taskObject,
    settings: config.videos,
    userAgent,
    wake,
    events: eventsOf(options),
    ...(options.taskCharged && { taskCharged: options.taskCharged }),
    providers: () => options.models().providers,
    upstream: { send: (...call) => options.upstream().send(...call) },
    fetchBytes,
  });
  const createSharedRate: CreateSharedRate = options.createRate ?? ((_name, rate) => createRate(rate));
  const replayRate = createSharedRate('webhook replays', { ...REPLAY_RATE, now: clock.now });
  const { timeout: timeoutMs, honorRetryAfter, standardHeaders, secret, ca } = config.callbacks;
  const deliverySettings = {
    encryptionKeys: keys,
    ...(secret && { fallbackSecret: secret.reveal() }),
    policy: policyOptions,
    dnsServers: config.network.dnsServers,
    ...(ca !== undefined && { extraCa: ca }),
    ...(config.notices && { noticeUrl: config.notices.webhook.reveal() }),
    userAgent,
    timeoutMs,
    honorRetryAfter,
    standardHeaders,
  };
  return {
    video: {
      videos,
      models: options.models,
      openContent: mirror.openContent,
      checkFileUrl: mirror.checkFileUrl,
      checkPictureUrl: mirror.checkPictureUrl,
      findPicture: mirror.findPicture,
      policy: mediaPolicy,
      encode: (task) => encodeTask(task, taskObject),
      async checkCallbackUrl(url, key) {
        const checked = await checkCallbackUrl(url, policy, lookup, clock);
        await secrets.ensureCanSign(key);
        return checked;
      },
      deliveries: {
        of: (owner, taskId) => deliveriesOf(store, { owner, taskId }),
        async replay(owner, taskId) {
          refuseTooFast(await replayRate(owner));
          await replayDelivery({ store, scheduler: { wake }, owner, taskId });
        },
      },
      clock,
    },
    pictures: { keep: (picture) => mirror.keepPicture(options.baseUrl(), picture) },
    secrets,
    fetchBytes,
    wake,
    async start() {
      if (wakePrimary) return;
      await secrets.verify();
      await videos.start();
      scheduler = createScheduler({ store, handlers: videos.handlers, log, clock });
      deliveries = startDeliveries({ ...options, clock }, deliverySettings);
      stopExpiring = startHourlyCleanup(mirror, { now: expiry.now, after: clock.after }, log);
      gateways = countGateways(store, log, clock);
    },
    async stop(grace) {
      stopExpiring();
      gateways?.close();
      await Promise.all([scheduler?.stop(grace), deliveries?.stop(grace)]);
      await mirror.settlePictures();
      await clients.trusted.close();
    },
  };
}

function startDeliveries(
  { store, log, events, clock }: VideoTasksOptions,
  settings: Omit<ThreadSettings, 'store'>,
): DeliveryThread {
  const { access } = store;
  if (!access) throw new Error('the store cannot be reached from another thread');
  return createDeliveryThread({
    store,
    access,
    log,
    settings: { ...settings, store: accessMessage(access) },
    ...(clock && { clock }),
    ...(events && { events }),
  });
}

/** Rate limit of webhook replays for one key. */
const REPLAY_RATE = { rate: 0.5, burst: 30 };

function refuseTooFast(wait: number): void {
  if (wait === 0) return;
  throw new GatewayError('rate_limit_exceeded', 'Too many webhooks are sent again with this key; slow down.', {
    retryAfter: wait,
  });
}

/** Without a mirror, no mirror failures are counted. */
function eventsOf({ config, events }: VideoTasksOptions): TelemetryEvents | undefined {
  return events && config.videos.mirror.type === 'off' ? { ...events, videoMirrorFailed() {} } : events;
}

/** `baseUrl` is read each time, because the port is known only after listening. */
function objectOptions({ config, baseUrl }: VideoTasksOptions, mirror: FullMirror): TaskObjectOptions {
  return {
    get baseUrl() {
      return baseUrl();
    },
    mirrorUrls: (task) =>
      task.assets.flatMap(({ kept }, index) => (kept ? [mirror.publicUrl(baseUrl(), task, index, kept)] : [])),
    exposeUpstreamUrls: config.videos.exposeUpstreamUrls,
  };
}

export function policyOptionsOf({ callbacks, server }: Config): AddressPolicyOptions {
  const { allowCidrs, allowHosts, denyCidrs } = callbacks;
  const own = server.publicUrl === undefined ? [] : [new URL(server.publicUrl).hostname];
  return { allowCidrs, allowHosts, denyCidrs, denyHosts: own };
}
