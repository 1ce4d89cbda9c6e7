/** Gateway: composition root that wires all parts from a configuration. */

import { adminUrl, localUrl } from '../config/host.ts';
import type { AdminConfig } from '../config/resolved.ts';
import { Cancellation } from '../core/cancellation.ts';
import { type Clock, createStoreClock } from '../core/clock.ts';
import { isLoopback } from '../core/loopback.ts';
import { requireWebSearch } from '../core/web-search.ts';
import { createApp } from '../http/app.ts';
import type { AppOptions } from '../http/app-options.ts';
import { bodyMemoryOf, createBodyBudget } from '../http/body-budget.ts';
import type { DispatchOptions } from '../inference/dispatch.ts';
import { inlineMedia, refusePrivateUrls } from '../inference/request/media.ts';
import { createStateMemory } from '../inference/state/memory.ts';
import { protocolOf, protocols, upstreamProtocolOf } from '../protocols/index.ts';
import { unknownModels } from '../routing/model-names.ts';
import type { RoutingState } from '../routing/state.ts';
import { RESPONSE_JOB_KIND } from '../stored-responses/background.ts';
import { createDeadlineTimer, type DeadlineTimer } from '../transport/deadlines.ts';
import { openAccounting } from './accounting.ts';
import type { RunningAdmin } from './admin.ts';
import { openDashboard } from './dashboard.ts';
import { openSecrets } from './encryption.ts';
import { startEndpointSnapshots } from './endpoint-snapshots.ts';
import type { GatewayOptions } from './gateway-options.ts';
import { createOperationReadings } from './operation-readings.ts';
import type { WorkerProcess } from './process.ts';
import { createReloadableParts, type PartsInUse } from './reloadable-parts.ts';
import type { RunningGateway } from './running-gateway.ts';
import { openStoredResponses } from './stored-responses.ts';
import { openGatewayTelemetry } from './telemetry.ts';
import { createVideoTasks, type VideoTasks } from './video-tasks.ts';

/** Graceful shutdown: time for running task steps to finish. The next gateway continues the others. */
const TASK_GRACE_MS = 5000;

/** The memory for bodies is this many times that for conversations of WebSockets. */
const CONVERSATION_SHARE = 2;

export type { GatewayOptions } from './gateway-options.ts';
export type { RunningGateway } from './running-gateway.ts';

/** Basis of the parts that a start wires. */
interface Basis extends GatewayOptions {
  clock: Clock;
  /** Place of this process; undefined if it is no worker. */
  worker: WorkerProcess | undefined;
  userAgent: string;
  timer: DeadlineTimer;
  parts: PartsInUse;
  /** Requests under way are aborted. */
  stopping: Cancellation;
  /** What the start has opened, closed in reverse order. */
  opened: AsyncDisposableStack;
  /** What is closed after all others, with their last figures. */
  reporting: AsyncDisposableStack;
}

function createBasis(options: GatewayOptions): Basis {
  const { store, version, process, clock = createStoreClock(store) } = options;
  const userAgent = `polygate/${version}`;
  const timer = createDeadlineTimer(clock);
  const parts = createReloadableParts({ ...options, userAgent, clock, timer });
  const worker = process?.role === 'worker' ? process : undefined;
  const opened = new AsyncDisposableStack();
  const reporting = opened.use(new AsyncDisposableStack());
  opened.defer(() => timer.close());
  opened.defer(() => parts.now.upstream.close());
  return { ...options, clock, worker, userAgent, timer, parts, stopping: new Cancellation(), opened, reporting };
}

/** Starts all parts. Closes those that are open already if one of them fails. */
export async function startGateway(options: GatewayOptions): Promise<RunningGateway> {
  const basis = createBasis(options);
  const { log, clock, parts, stopping, opened } = basis;
  let closed: Promise<void> | undefined;

  async function close(grace?: number): Promise<void> {
    parts.now.models.close();
    const cancelGrace = grace === undefined ? undefined : clock.after(grace, () => stopping.cancel());
    closed ??= opened.disposeAsync();
    await closed.finally(cancelGrace);
  }

  try {
    return await startParts(basis, close);
  } catch (error) {
    await close().catch((problem: Error) => log.warn({ problem: problem.message }, 'the start was not undone cleanly'));
    throw error;
  }
}

/** Wires all parts; answers nothing before they are there. */
async function startParts(basis: Basis, close: RunningGateway['close']): Promise<RunningGateway> {
  const { config, keys, store, log, process, clock, worker, userAgent, parts, opened, reporting } = basis;
  const context = { store, log, clock };
  const draining = new Cancellation();
  const secrets = await openSecrets({ config, store });
  const accounting = await openAccounting({
    ...context,
    config: () => parts.now.config,
    journalDisk: basis.journalDisk,
    ...process,
  });
  opened.defer(accounting.close);
  const { telemetry, state } = await openGatewayTelemetry(basis, accounting);
  reporting.defer(telemetry.close);
  const { host, port } = config.server;
  let address: RunningGateway['address'] = { host, port };
  let admin: RunningAdmin | undefined;
  const models = () => parts.now.models;
  // The last one has the requests that ended meanwhile.
  opened.defer(startEndpointSnapshots({ ...basis, ...accounting, routing: state, models, isSole: !process }));
  /** Stop answers and jobs, all at the same time. */
  const stops: (() => Promise<void>)[] = [];
  opened.defer(() => stopAll(stops));
  const clientsUrl = () => config.server.publicUrl ?? localUrl({ host, port: address.port });
  const tasks = createVideoTasks({
    ...context,
    config,
    secrets,
    userAgent,
    models,
    events: telemetry.metrics.events,
    upstream: () => parts.now.upstream,
    baseUrl: clientsUrl,
    wakePrimary: worker?.wake,
    createRate: worker?.createRate,
    expiry: accounting.expiry,
    taskCharged: (task) => accounting.admission.taskCharged(task),
  });
  stops.push(() => tasks.stop(TASK_GRACE_MS));
  const responses = openStoredResponses({
    ...context,
    keys,
    expiry: accounting.expiry,
    cipher: secrets.cipher,
    settings: () => parts.now.config.responses,
    events: telemetry.metrics.events,
    wakePrimary: worker?.wake,
  });
  stops.push(() => responses.stop(TASK_GRACE_MS));
  const operation = createOperationReadings({
    ...basis,
    startedAt: clock.now(),
    parts: () => parts.now,
    ports: () => [address.port, admin?.address.port ?? config.admin?.port ?? address.port],
    recorder: accounting.recorder,
  });
  const dashboard = openDashboard(config, protocolOf('chat'), {
    keys,
    secrets: tasks.secrets,
    store: accounting.records,
    video: tasks.video,
    models,
    routing: state,
    admission: accounting.admission,
    tags: accounting.tags,
    refusesUnsupportedSearch: () => parts.now.config.responses.hostedTools === 'refuse',
    ...accounting.running,
    instance: accounting.instance,
    operation,
    clock,
    createRate: worker?.createRate,
    process,
    pages: basis.pages,
    clientsUrl,
    adminUrl: () => adminUrl(config.admin, admin?.address),
  });
  const appOptions: AppOptions = {
    ...settingsOfClients(basis),
    admission: accounting.admission,
    ...accounting.running,
    protocols,
    version: basis.version,
    keys,
    store: accounting.records,
    models,
    stored: responses.stored,
    background: responses.background,
    streams: responses.streams,
    dispatch: createDispatch(basis, { state, tasks }),
    videos: tasks.video,
    webhookSecrets: tasks.secrets,
    dashboard: dashboard.forClients,
    log,
    clock,
    observer: telemetry.observer,
    metrics: worker ? { ...telemetry.metrics, text: worker.metricsText } : telemetry.metrics,
    ...(worker && { createRate: worker.createRate }),
    isDraining: () => draining.isCancelled,
  };
  const app = createApp(appOptions);
  stops.push(app.close);
  if (process?.role !== 'primary') address = await app.listen({ host, port });
  if (config.admin && !worker) {
    admin = await openAdmin(config.admin);
    stops.push(admin.close);
  }
  await tasks.start();
  responses.start(appOptions);
  if (!worker) opened.defer(operation.lookAtPrices(clock, log));
  if (config.notices) {
    const noticed = { config, keys, userAgent, clock, log, isWorker: worker !== undefined, wake: tasks.wake };
    opened.defer((await import('./notices.ts')).startNotices({ ...noticed, ...accounting }));
  }

  async function openAdmin(settings: AdminConfig): Promise<RunningAdmin> {
    const { startAdmin } = await import('./admin.ts');
    const { captures } = dashboard.forClients ?? {};
    const calls = config.ui.enabled ? { ...appOptions, captures, routes: app.routes } : undefined;
    return startAdmin(settings, {
      ...dashboard.forOperators,
      calls,
      protocol: protocolOf('chat'),
      log,
      clock,
      bodyBudget: appOptions.bodyBudget,
    });
  }

  return {
    get address() {
      return address;
    },
    admin: admin?.address,
    providers: () => models().states(),
    unknownModels: () => unknownModels(models()),
    discovered: () => models().discovered(),
    reload: parts.replace,
    refuseReload: parts.refuse,
    metricsText: telemetry.metrics.text,
    flushed: accounting.flushed,
    wake: (kind) => (kind === RESPONSE_JOB_KIND ? responses.wake() : tasks.wake(kind)),
    findCapture: (asked) => dashboard.forClients?.captures?.find(asked),
    countRunning: accounting.countOwn,
    adoptCooldown: (circuit) => state.breaker.adopt(circuit),
    setAddress(chosen) {
      address = chosen;
    },
    forgetWorker: accounting.forgetWorker,
    drain: () => draining.cancel(),
    close,
  };
}

/** Waits for all of them, also if one fails. */
async function stopAll(stops: readonly (() => Promise<void>)[]): Promise<void> {
  const results = await Promise.allSettled(stops.map((stop) => stop()));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

/** Returns a function that makes the options of a call from the configuration that is in use then. */
function createDispatch(
  { clock, timer, userAgent, parts, stopping, fetchBytes }: Basis,
  { state, tasks }: { state: RoutingState; tasks: VideoTasks },
): () => DispatchOptions {
  const memory = createStateMemory();
  return () => ({
    memory,
    pictures: tasks.pictures,
    state,
    totalMs: parts.now.config.server.deadlines.total,
    upstream: parts.now.upstream,
    keepAliveMs: parts.now.config.server.keepAlive,
    timer,
    userAgent,
    now: clock.now,
    stopping,
    onResponseHeaders: state.attempts.onResponseHeaders,
    trace: parts.now.config.usage.trace,
    async prepare(request, { dialect }, client) {
      if (parts.now.config.responses.hostedTools === 'refuse') requireWebSearch(request);
      await refusePrivateUrls(request);
      const typed = upstreamProtocolOf(dialect.protocol).operations.complete.needsMediaTypes === true;
      const inline = dialect.inlinesMedia === true;
      await inlineMedia(request, { typed, inline, client }, fetchBytes ?? tasks.fetchBytes);
    },
  });
}

/** Settings of the server of clients, and the memory that their bodies share. */
function settingsOfClients({ config, worker, parts }: Basis) {
  const { host, prefixes, bodyLimit, trustedProxies, connectionsPerAddress } = config.server;
  const bodyMemory = bodyMemoryOf(config.server, worker?.count);
  return {
    prefixes,
    bodyLimit,
    trustedProxies,
    connectionsPerAddress,
    bodyBudget: createBodyBudget(bodyMemory),
    websockets: () => ({
      enabled: parts.now.config.server.websockets,
      perKey: parts.now.config.server.websocketsPerKey,
      memory: Math.floor(bodyMemory / CONVERSATION_SHARE),
    }),
    operator: { token: config.admin?.token, local: isLoopback(host) },
  };
}
